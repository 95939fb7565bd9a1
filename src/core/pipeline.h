/* The one way from a request to a handler: registry, arguments, policy, record, run, record, answer.
 *
 * Work moves in turns of the event loop. What a turn brought in is recorded with one write before
 * any of it is dispatched, and outcomes are recorded with one write before any answer leaves. */
#ifndef SANDGATE_CORE_PIPELINE_H
#define SANDGATE_CORE_PIPELINE_H

#include <uv.h>

#include "core/call.h"
#include "core/registry.h"

/* Carries out prepared calls. `start` takes the call until it gives it to pipeline_finish, which it
 * may do at once. `cancel` asks for an early end: the runner still finishes the call, with what
 * really happened. `kill` is for a call that did not end within its grace; it may set call->kill_ns to be
 * called again. `late` says, every now and
 * then, that a call runs longer than most. */
struct runner {
    const char *name;
    void (*start)(void *self, struct call *call);
    void (*cancel)(void *self, struct call *call);
    void (*kill)(void *self, struct call *call);
    void (*late)(void *self, struct call *call);
    void (*flush)(void *self); /* at the end of each turn; NULL: nothing is held back */
    void *self;
};

/* Says yes or no before anything runs. */
struct policy_hook {
    int (*check)(void *self, const struct call *call, struct err *err);
    void *self;
};

/* Writes the records. flush makes everything recorded so far safe from the death of any process;
 * wait_durable calls back when it is as safe as the operator asked for. */
struct recorder {
    void (*intent)(void *self, const struct call *call);
    void (*outcome)(void *self, struct call *call);
    int (*flush)(void *self, struct err *err);
    void (*wait_durable)(void *self, void (*done)(void *arg, int status), void *arg);
    void *self;
};

struct call_list {
    struct call *first;
    struct call *last;
    size_t count;
};

struct pipeline {
    uv_loop_t *loop;
    struct policy_hook policy;
    struct recorder recorder;
    struct runner runners[RUN_COUNT];
    uint64_t timeout_ms; /* of a call */
    uint64_t next_uid;
    char uid_prefix[24];

    uv_prepare_t turn;    /* runs each time before the loop waits */
    uv_timer_t deadlines; /* ticks while calls are running */
    struct call_list to_start;
    struct call_list running;
    struct call_list to_answer;
    size_t in_flight;           /* submitted and not yet answered */
    void (*settled)(void *arg); /* after each turn: a front may send what was answered in it */
    void *settled_arg;
};

void pipeline_init(struct pipeline *p, uv_loop_t *loop);
/* Closes the handles; run the loop once more before the memory goes. */
void pipeline_done(struct pipeline *p);

/* Takes the call. Its answer callback runs in a later turn, once. */
void pipeline_submit(struct pipeline *p, struct call *call);
/* For runners that had to wait: policy and preparation once more, settings may have changed. */
int pipeline_recheck(struct call *call, struct err *err);
/* For runners: the call has its reply, or `err` says why not. */
void pipeline_finish(struct call *call, const struct err *err);
/* Ends a call early with this error; no effect on one that is done. */
void pipeline_cancel(struct call *call, enum err_code code, const char *why);

size_t pipeline_in_flight(const struct pipeline *p);

#endif
