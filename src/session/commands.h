/* Commands of a session that are under way: starting them in the cell, taking what they print, stopping them,
 * and hearing how they ended. */
#ifndef SANDGATE_SESSION_COMMANDS_H
#define SANDGATE_SESSION_COMMANDS_H

#include <uv.h>

#include "cell/cell.h"
#include "core/pipeline.h"

struct commands;

struct commands_events {
    /* A call could not begin, because something is used up that others will give back. It is the receiver's again. */
    void (*delayed)(void *arg, struct call *call, const struct err *why);
    /* One has given back all it had. */
    void (*freed)(void *arg);
};

/* `tag` is random text of this gate; with `once` there is one command. */
struct commands *commands_new(uv_loop_t *loop, const char *tag, bool once,
                              const struct commands_events *events, void *arg);
/* Accepts NULL. None may be under way. */
void commands_free(struct commands *commands);

/* Has the next command's first process made, if that was not done, for a call like this one. A failure is told when
 * there is a command. */
int commands_prepare(struct commands *commands, struct cell *cell, const struct call *call,
                     const struct config *config, struct err *err);
/* Refuses a call whose share of the processors nobody here can hold, before anyone is asked about it. */
int commands_check_cpu(struct commands *commands, const struct call *call, struct err *err);
/* Takes a prepared call until pipeline_finish. */
void commands_start(struct commands *commands, struct cell *cell, struct call *call);
/* Whether one is under way. */
bool commands_any(const struct commands *commands);
/* Whether one that began is, or has not yet given back all it had. */
bool commands_hold_any(const struct commands *commands);
/* SIGTERM to all its processes; SIGKILL. False: it is not under way, or was killed before. */
bool commands_stop(struct commands *commands, struct cell *cell, struct call *call);
bool commands_kill(struct commands *commands, struct cell *cell, struct call *call);
/* The launcher's word about one. */
void commands_ended(struct commands *commands, const struct frame *frame);
/* The cell is gone and everything in it. */
void commands_cell_died(struct commands *commands, const struct err *err);

#endif
