/* The gate's end of a cell: starts it, sends frames, hears what comes back, notices its death. */
#ifndef SANDGATE_CELL_CELL_H
#define SANDGATE_CELL_CELL_H

#include <uv.h>

#include "cell/frame.h"
#include "cell/spec.h"

struct cell;

struct cell_events {
    /* A frame from the worker; its strings live only during the call. Returns how many calls are
     * still to be answered, or < 0 when the frame broke the rules: the cell is then ended. */
    int (*frame)(void *arg, const struct frame *frame);
    /* A call that the cell never had, because it ended before. */
    void (*unsent)(void *arg, uint64_t token);
    /* A command's first process ended without its account (FRAME_ENDED), or never began. */
    void (*ended)(void *arg, const struct frame *frame);
    /* The cell is gone; called once, never from inside cell_start or cell_send. Free it then. */
    void (*dead)(void *arg, const char *why);
    /* NULL, or: its first process is there and does nothing yet, because it has no specification. Called from inside
     * cell_start, which fails when this does. */
    int (*spawned)(void *arg, pid_t group, struct err *err);
};

/* Starts the process for the next cell, while it is still being found out what that is to be; and ends it, if there was
 * none. */
void cell_prepare(void);
void cell_unprepare(void);
/* Starts a cell. Frames may be sent at once: they wait until the worker serves. shelf_fd (taken; -1: none) is of a
 * shelf (cell/shelf.h). */
int cell_start(struct cell **ret_cell, uv_loop_t *loop, const struct cell_spec *spec, int shelf_fd,
               const struct cell_events *events, void *arg, struct err *err);
/* Takes a frame for the next cell_flush. body_fd (taken; -1: none) holds the body in place of
 * frame->body. */
int cell_send(struct cell *cell, const struct frame *frame, int body_fd, struct err *err);
/* Sends what all cells were given since, in as few messages as possible. */
void cell_flush(void);
/* To the launcher. The descriptors stay the caller's. Where its socket is full, a frame with `fds` (even none) is
 * SESSION_BUSY, and one without goes as soon as there is room. */
int cell_order(struct cell *cell, const struct frame *frame, const struct frame_fds *fds,
               struct err *err);
/* Some call takes long: another thread of the worker is to take the next. */
void cell_help(struct cell *cell);
/* Ends it now; `dead` follows in a later turn. */
void cell_kill(struct cell *cell, const char *why);
/* Ends it if it lives and frees it once its handles are closed; no event follows. Accepts NULL. */
void cell_free(struct cell *cell);
/* Whether it could not start for lack of something that may be there later. */
bool cell_was_short(const struct cell *cell);
bool cell_is_ready(const struct cell *cell);
/* The process group of the launcher. When it has ended, so have all processes of the cell. */
pid_t cell_group(const struct cell *cell);

/* Reaps ended cells; needs SIGCHLD at its default or caught. */
void cell_reap(void);

#endif
