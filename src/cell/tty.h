/* The terminal that a command gets of its own, from its own /dev/pts: a person's real one is not reached from inside.
 *
 * The command's first process opens it and leads its session; the program is a process group of its own in that, in the
 * foreground, so that it can be stopped and go on (Ctrl-Z), which a leader without a shell above it could not. The other
 * end goes to the gate over a socket on which both then say a word now and then, as FRAME_TERMINAL. */
#ifndef SANDGATE_CELL_TTY_H
#define SANDGATE_CELL_TTY_H

#include <sys/types.h>

#include "base/err.h"

/* A FRAME_TERMINAL's token. */
enum tty_word {
    TTY_OPENED = 1, /* to the gate, with the terminal's other end */
    TTY_READY,      /* to the first process: its size and settings are set, the program may begin */
    TTY_STOPPED,    /* to the gate: the program is, by a signal */
    TTY_RESUME,     /* to the first process: the program is to go on */
};

/* 0 or -errno. */
int tty_send(int socket, enum tty_word word, int pass_fd);
/* Opens the terminal as this process's standard input and output, and its standard error where `errors`, and waits
 * until the gate has prepared it. */
int tty_open(int socket, bool errors, struct err *err);
/* In the child that is to be the program, before it is started: async-signal-safe. */
void tty_take_foreground(void);
/* Does what the gate asks for on a readable socket. False: nothing more will come. */
bool tty_obey(int socket, pid_t program);

#endif
