/* A program that runs as our child, with one socket as its standard input and output. */
#ifndef SANDGATE_CLIENT_PROCESS_H
#define SANDGATE_CLIENT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandgate.h"

#define SANDGATE_WORDS_MAX 2048

struct sandgate_process {
    pid_t pid;
    int pid_fd;   /* -1: somebody else has taken the child */
    int fd;       /* our end of the socket */
    int words_fd; /* its standard error, or -1 */
    bool ended;   /* and was taken: status holds */
    bool killed;  /* by the signal in status; a program can end with such a status itself */
    int status;   /* as a shell tells it, or a negative errno value */
    char words[SANDGATE_WORDS_MAX]; /* the last it said on standard error */
    size_t n_words;
};

/* A point in time, from milliseconds of which fewer than 0 mean for ever, and what is left until it
 * in the form poll() takes. */
int64_t sandgate_deadline(int timeout_ms);
int sandgate_left(int64_t deadline);

/* The caller's options by the rules of `size`, defaults filled in. -EINVAL. */
int sandgate_options_read(const struct sandgate_options *options, struct sandgate_options *ret,
                          struct sandgate_error *ret_error);

/* The command line of a gate with these options, for free(); its words are borrowed. NULL without memory. */
const char **sandgate_options_words(const struct sandgate_options *options);

/* Starts options->program with these arguments, argv[0] included. */
int sandgate_process_start(struct sandgate_process *process, const struct sandgate_options *options,
                           const char *const *argv, struct sandgate_error *ret_error);
/* Takes in what it has said on standard error, without waiting. */
void sandgate_process_hear(struct sandgate_process *process);
/* Waits for it to end and takes it. False when the time was over first. */
bool sandgate_process_wait(struct sandgate_process *process, int64_t deadline);
void sandgate_process_signal(const struct sandgate_process *process, int number);
/* How it ended and its last words, for people. */
void sandgate_process_describe(struct sandgate_process *process, char *text, size_t n);
/* Takes out what moves a terminal's cursor. */
void sandgate_make_printable(char *text);
/* Kills it unless it has ended, waits for it and closes everything. Returns the status. */
int sandgate_process_end(struct sandgate_process *process, int64_t deadline);

#endif
