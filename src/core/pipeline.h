/* The one way from a request to a handler: registry, arguments, policy, approval, cost, record, run, record, answer.
 *
 * Work moves in turns of the event loop. What a turn brought in is charged in one transaction and recorded with one
 * write before any of it is dispatched, and outcomes are recorded with one write before any answer leaves. */
#ifndef SANDGATE_CORE_PIPELINE_H
#define SANDGATE_CORE_PIPELINE_H

#include <uv.h>

#include "core/call_list.h"
#include "core/registry.h"

/* Carries out prepared calls of one kind (core/runner.h). `start` takes the call until it gives it to pipeline_finish, at
 * once or later. `cancel` asks for an early end: the runner still finishes the call, with what really happened. `kill` is
 * for a call that did not end within its grace; it may set call->kill_ns to be called again. `late` says, every now and
 * then, that a call runs longer than most. */
struct runner {
    void (*start)(struct call *call);
    void (*cancel)(struct call *call);
    void (*kill)(struct call *call);
    void (*late)(struct call *call);
    /* A call waits for the settings of its workplace: sees to it that pipeline_settled follows, or
     * pipeline_not_settled. */
    void (*expect)(struct call *call);
    /* For the runner's own `start`: what is made ready for a call while its cell starts (NULL: nothing), and how the call
     * begins when that is open. */
    void (*make_ready)(struct call *call);
    void (*begin)(struct call *call);
};

/* Decides before anything runs. All but `judge` may be NULL: nobody is asked, nothing costs anything. */
struct policy_hook {
    /* Fills in call->verdict and has no other effect. 0: it may run, or may run once someone agrees. */
    int (*judge)(void *self, struct call *call, struct err *err);
    void *self;
    /* Takes a call that someone is to be asked about until it gives it to pipeline_resume, at once or later. */
    void (*hold)(void *self, struct call *call);
    /* The call that it holds is over. */
    void (*forget)(void *self, struct call *call);
    /* Whether a call of this verdict has to be charged. Then, for all of a turn: open; charge for each; close, before
     * which nothing counts. `open` returns 1 when another process has the books: it is tried again. */
    bool (*costs)(void *self, const struct call *call);
    int (*open)(void *self, struct err *err);
    int (*charge)(void *self, struct call *call, struct err *err);
    int (*close)(void *self, struct err *err);
    /* A charged call was prepared once more: it still has no more than it paid for. May be NULL. */
    void (*restrain)(void *self, struct call *call);
    /* A charged call has ended. */
    void (*settle)(void *self, struct call *call);
};

/* Writes the records. flush makes everything recorded so far safe from the death of any process;
 * wait_durable calls back when it is as safe as the operator asked for. */
struct recorder {
    void (*intent)(void *self, const struct call *call);
    void (*outcome)(void *self, struct call *call);
    /* 1: it has to wait for another process; to be called again soon. */
    int (*flush)(void *self, struct err *err);
    void (*wait_durable)(void *self, void (*done)(void *arg, int status), void *arg);
    void *self;
};

/* Hears of the end of each turn: a front may send what was answered in it, and submit what waited. */
struct pipeline_listener {
    struct pipeline_listener *next;
    void (*turned)(void *arg);
    void *arg;
};

struct pipeline {
    uv_loop_t *loop;
    struct policy_hook policy;
    struct recorder recorder;
    const struct runner *runners; /* one for each kind */
    void (*flush)(void); /* sends what runners hold back, at the end of each turn; NULL: nothing */
    uint64_t timeout_ms; /* of a call */
    uint64_t next_uid;
    char uid_prefix[24];

    uv_prepare_t turn;    /* runs each time before the loop waits */
    uv_timer_t deadlines; /* ticks while calls are running */
    uv_timer_t books;     /* runs until they are tried again */
    uv_timer_t
        flushing; /* runs until the records are flushed again: no call starts and none is answered meanwhile */
    uint64_t books_wait_ns; /* until when */
    struct call_list unsettled;
    struct call_list held;
    struct call_list to_charge;
    struct call_list to_start;
    struct call_list running;
    struct call_list to_answer;
    struct call_list direct_done; /* to be answered */
    size_t in_flight;             /* submitted and not yet answered */
    size_t clients;               /* whose calls come; they take turns where there are several */
    size_t expected; /* bytes that the answers of calls in flight may have, but for those held */
    struct pipeline_listener *listeners;
};

void pipeline_init(struct pipeline *p, uv_loop_t *loop);
/* Closes the handles; run the loop once more before the memory goes. */
void pipeline_done(struct pipeline *p);

/* The listener stays the caller's. None of them may go while it is called. */
void pipeline_listen(struct pipeline *p, struct pipeline_listener *listener);
void pipeline_unlisten(struct pipeline *p, struct pipeline_listener *listener);

/* Takes the call. Its answer callback runs in a later turn, once. */
void pipeline_submit(struct pipeline *p, struct call *call);
/* Takes a call that the gate itself makes to its runner, without policy, cost or record. Its answer callback runs in a later
 * turn, once. */
void pipeline_run_direct(struct pipeline *p, struct call *call);
/* The settings of this workplace are known now; they cannot be: its calls fail. */
void pipeline_settled(struct pipeline *p, const struct workplace *at);
void pipeline_not_settled(struct pipeline *p, const struct workplace *at, const struct err *err);
/* For the policy: a call that it held may run, or `err` says why not. */
void pipeline_resume(struct call *call, const struct err *err);
/* For runners that had to wait: policy and preparation once more, settings may have changed. */
int pipeline_recheck(struct call *call, struct err *err);
/* For runners: the call has its reply, or `err` says why not. */
void pipeline_finish(struct call *call, const struct err *err);
/* Ends a call early with this error; no effect on one that is done. */
void pipeline_cancel(struct call *call, enum err_code code, const char *why);

/* Those that are held, and so take no part in the work, do not count. */
size_t pipeline_in_flight(const struct pipeline *p);

#endif
