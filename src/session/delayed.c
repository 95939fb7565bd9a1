#include "session/delayed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/handle.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/command_after.h"

#define RETRY_MS 50
/* Where nothing of ours is under way, others may still give something back, but not for ever. */
#define PATIENCE_NS 5000000000u

struct delayed {
    uv_timer_t timer;
    const struct delayed_events *events;
    void *arg;
    struct call *first; /* linked by wait_next */
    struct call **end;
    const struct call *trying; /* goes back to the front */
    uint64_t given_back_ns;    /* when something was last given back; 0: not yet */
    struct err why;            /* the last try failed */
};

struct delayed *delayed_new(uv_loop_t *loop, const struct delayed_events *events, void *arg,
                            struct err *err)
{
    FREE_AT_END struct delayed *d = mem_zero(sizeof *d);
    *d = (struct delayed){.events = events, .arg = arg, .end = &d->first};
    int r = uv_timer_init(loop, &d->timer);
    if (r < 0) {
        err_set(err, ERR_INTERNAL, "starting a timer: %s", uv_strerror(r));
        return NULL;
    }
    uv_unref((uv_handle_t *)&d->timer);
    d->timer.data = d;
    return TAKE_PTR(d);
}

void delayed_free(struct delayed *d)
{
    if (d)
        uv_close((uv_handle_t *)&d->timer, handle_free_data);
}

struct call *delayed_take(struct delayed *d)
{
    struct call *call = d->first;
    if (!call)
        return NULL;
    d->first = call->wait_next;
    if (!d->first)
        d->end = &d->first;
    return call;
}

static void give_up_first(struct delayed *d)
{
    struct err err;
    struct call *call = delayed_take(d);
    err_set(&err, ERR_SESSION_BUSY,
            "the command was not started, there is no room for it (%.200s); try again when less "
            "runs here, or raise the limits of open files and processes (ulimit -n, ulimit -u, "
            "pids.max)",
            d->why.message);
    err_reason(&err, "no_resources");
    command_after(call, &err);
}

static void retry_delayed(uv_timer_t *timer);

static void look_in(struct delayed *d, uint64_t ms)
{
    uv_timer_start(&d->timer, retry_delayed, ms, 0);
}

/* Each has its own patience: one that came last is not given up with the first. */
static bool is_in_vain(const struct delayed *d, const struct call *call)
{
    uint64_t since = call->command->delayed_ns;
    if (since < d->given_back_ns)
        since = d->given_back_ns;
    return clock_mono_ns() - since >= PATIENCE_NS && !d->events->may_help(d->arg);
}

static void retry_delayed(uv_timer_t *timer)
{
    struct delayed *d = timer->data;
    bool again = false;
    while (d->first && is_in_vain(d, d->first))
        give_up_first(d);
    while (d->first && !again) {
        struct call *call = delayed_take(d);
        d->trying = call;
        d->events->start(d->arg, call);
        again = d->trying == NULL;
        d->trying = NULL;
    }
    if (d->first)
        look_in(d, RETRY_MS);
}

void delayed_add(struct delayed *d, struct call *call, const struct err *why)
{
    bool first = call == d->trying;
    if (why != &d->why)
        d->why = *why;
    if (!call->command->delayed_ns)
        call->command->delayed_ns = clock_mono_ns();
    d->trying = first ? NULL : d->trying;
    call->wait_next = first ? d->first : NULL;
    if (first)
        d->first = call;
    else
        *d->end = call;
    if (!call->wait_next)
        d->end = &call->wait_next;
    if (!uv_is_active((uv_handle_t *)&d->timer))
        look_in(d, RETRY_MS);
}

bool delayed_behind(struct delayed *d, struct call *call)
{
    if (!d->first || call == d->trying)
        return false;
    delayed_add(d, call, &d->why);
    return true;
}

bool delayed_remove(struct delayed *d, struct call *call)
{
    struct call **at = &d->first;
    while (*at && *at != call)
        at = &(*at)->wait_next;
    if (!*at)
        return false;
    *at = call->wait_next;
    if (d->end == &call->wait_next)
        d->end = at;
    if (call->cancel_code == ERR_TIMEOUT)
        snprintf(call->cancel_why, sizeof call->cancel_why,
                 "its time was over before there was room to start it (%.60s)", d->why.message);
    return true;
}

void delayed_wake(struct delayed *d)
{
    d->given_back_ns = clock_mono_ns();
    if (d->first)
        look_in(d, 0);
}
