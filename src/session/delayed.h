/* Commands that could not begin, because descriptors, memory or processes were used up. They wait in their order until
 * another command has ended, and are tried again every now and then; a time limit holds as for any other. There are
 * never more than limits.maxInFlight. */
#ifndef SANDGATE_SESSION_DELAYED_H
#define SANDGATE_SESSION_DELAYED_H

#include <uv.h>

#include "core/call.h"

struct delayed;

struct delayed_events {
    /* Tries one again; it may come back through delayed_add at once. */
    void (*start)(void *arg, struct call *call);
    /* Whether something is under way that will give back what it has. */
    bool (*may_help)(void *arg);
};

/* NULL with an error. */
struct delayed *delayed_new(uv_loop_t *loop, const struct delayed_events *events, void *arg,
                            struct err *err);
/* Accepts NULL. None may wait. */
void delayed_free(struct delayed *delayed);

void delayed_add(struct delayed *delayed, struct call *call, const struct err *why);
/* Takes one out that is to end; its cancel_why says what it waited for. False: it does not wait here. */
bool delayed_remove(struct delayed *delayed, struct call *call);
/* The first of all, which is taken out; NULL: none waits. */
struct call *delayed_take(struct delayed *delayed);
/* Adds one that has not been tried where others wait; false: none does, it may be tried. */
bool delayed_behind(struct delayed *delayed, struct call *call);
/* Something was given back. */
void delayed_wake(struct delayed *delayed);

#endif
