/* A person's terminal while a command that has one of its own is shown on it: what is typed goes to the command, and the
 * person's terminal gets its own settings back, however this ends. */
#ifndef SANDGATE_FRONT_RUN_TERMINAL_H
#define SANDGATE_FRONT_RUN_TERMINAL_H

#include <termios.h>
#include <uv.h>

#include "core/call.h"

#define RUN_TERMINAL_SIGNALS 2

struct run_terminal {
    struct call_terminal link;
    struct call **call; /* whose is NULL once it has been answered */
    uv_loop_t *loop;
    struct termios usual;
    struct termios raw;
    bool is_raw;
    const bool *drawn; /* the command has set something that stays */
    int typed; /* the terminal, opened anew: what is set for this is not for those who share standard input */
    int other; /* the command's terminal; -1: not there (any more) */
    uv_poll_t input;
    uv_poll_t room; /* for what was typed, in the command's terminal */
    uv_signal_t signals[RUN_TERMINAL_SIGNALS];
    char held[4096]; /* typed, and not passed on yet */
    size_t at;
    size_t n;
    pid_t guard; /* gives the settings back when this process is killed; -1: there is none */
    int guard_fd;
};

/* Whether that is wanted, and standard input and output are a terminal in whose foreground this is. Before any thread is
 * started. */
bool run_terminal_open(struct run_terminal *t, bool wanted);
void run_terminal_start(struct run_terminal *t, uv_loop_t *loop, struct call **call,
                        const bool *drawn);
/* The command has ended: the terminal is as it was. */
void run_terminal_end(struct run_terminal *t);
/* Before the loop ends; also of one that was not started. */
void run_terminal_stop(struct run_terminal *t);

#endif
