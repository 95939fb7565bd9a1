/* A pipeline between a front, a recorder and a runner that the test plays itself. Each step leaves a word
 * in the trace. Time passes when the test says so. */
#ifndef SANDGATE_TESTS_PIPELINE_PARTS_H
#define SANDGATE_TESTS_PIPELINE_PARTS_H

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/pipeline.h"
#include "dialect/dialects.h"
#include "json_text.h"

#define CALLS_MAX 2000
#define NS_PER_MS 1000000

static uv_loop_t loop;
static struct pipeline pipeline;
static struct buf trace;

/* --- time */

static int64_t later_ns;

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, id, ts);
    if (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE) {
        int64_t ns = ts->tv_nsec + later_ns % 1000000000;
        ts->tv_sec += later_ns / 1000000000 + ns / 1000000000;
        ts->tv_nsec = ns % 1000000000;
    }
    return r;
}

static inline void turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

static inline void pass(int64_t ms)
{
    later_ns += ms * NS_PER_MS;
    turn();
    turn();
}

/* --- what a test knows of a call, by the number it gave it */

struct known {
    struct call *call; /* NULL once it was answered */
    bool failed;
    enum err_code code;
    char message[512];
    bool running;  /* in the runner's hands */
    bool finished; /* was in them */
    bool cancelled;
    bool unsafe; /* was answered before its record was safe */
    unsigned intents, outcomes, starts, cancels, kills, answers;
    unsigned holds, forgets, charges, settles;
    bool cut_off;  /* when it was settled */
    bool held;     /* in the policy's hands */
    bool approved; /* the policy let it go on */
    bool must_pay;
    bool paid;                      /* charged, and the books were closed over it */
    uint64_t intent_at, outcome_at; /* positions in the log */
};

static struct known known[CALLS_MAX];

static inline struct known *known_of(const struct call *call)
{
    return call->front;
}

static inline void leave(const char *word, const struct call *call)
{
    buf_addf(&trace, "%s %d; ", word, (int)(known_of(call) - known));
}

static inline void assert_trace(const char *expected)
{
    assert_string_equal(buf_text(&trace), expected);
    buf_reset(&trace, SIZE_MAX);
}

/* --- the recorder: positions tell what is written and what is safe */

struct waiter {
    void (*done)(void *arg, int status);
    void *arg;
    uint64_t up_to;
};

static uint64_t recorded;
static uint64_t flushed;
static uint64_t durable;
static bool flush_fails;
static bool disk_is_slow;
static struct waiter waiters[CALLS_MAX];
static size_t n_waiters;

static inline void record_intent(void *self, const struct call *call)
{
    assert_ptr_equal(self, &recorded);
    leave("intent", call);
    known_of(call)->intents++;
    known_of(call)->intent_at = ++recorded;
}

static inline void record_outcome(void *self, struct call *call)
{
    (void)self;
    leave("outcome", call);
    known_of(call)->outcomes++;
    known_of(call)->outcome_at = ++recorded;
}

static inline int flush(void *self, struct err *err)
{
    (void)self;
    buf_add_text(&trace, flush_fails ? "flush fails; " : "flush; ");
    if (flush_fails)
        return err_set(err, ERR_DISK_FULL, "the log's disk is full");
    flushed = recorded;
    return 0;
}

/* The disk says how it went with the oldest that waits. */
static inline void disk_answers(int status)
{
    assert_true(n_waiters > 0);
    struct waiter first = waiters[0];
    memmove(waiters, waiters + 1, --n_waiters * sizeof *waiters);
    if (status == 0)
        durable = first.up_to;
    buf_add_text(&trace, status ? "lost; " : "durable; ");
    first.done(first.arg, status);
}

static inline void wait_durable(void *self, void (*done)(void *arg, int status), void *arg)
{
    (void)self;
    waiters[n_waiters++] = (struct waiter){done, arg, flushed};
    if (!disk_is_slow)
        disk_answers(0);
}

/* --- what the policy of the test does */

static bool policy_refuses;
static bool policy_asks;
static bool policy_looks_at_paths;
static bool policy_costs;
static bool books_are_taken;
static bool books_fail; /* when they are to be closed */
static bool no_money;
static bool books_open;

/* --- the runner */

static bool finish_at_once;
static bool kill_is_slow;

static inline void finish(struct call *call, enum err_code code)
{
    known_of(call)->running = false;
    known_of(call)->finished = true;
    if (code == ERR_COUNT) {
        pipeline_finish(call, NULL);
        return;
    }
    struct err err;
    err_set(&err, code, "the runner says so");
    pipeline_finish(call, &err);
}

static inline void start(struct call *call)
{
    struct known *k = known_of(call);
    leave("start", call);
    k->starts++;
    k->running = true;
    /* Whatever else happens: what runs has its intent on record, was approved if it had to be, and paid. */
    bool early = call->tool->capabilities == CAP_FS_READ && !k->approved;
    assert_true(call->direct || (k->intents == 1 && k->intent_at <= (early ? flushed : durable)));
    assert_true(!k->holds || k->approved);
    assert_true(!k->must_pay || k->paid);
    if (finish_at_once)
        finish(call, ERR_COUNT);
}

static inline void cancel(struct call *call)
{
    leave("cancel", call);
    known_of(call)->cancels++;
}

/* As a cell that is ended takes all its calls with it. */
static inline void kill_all(struct call *call)
{
    leave("kill", call);
    known_of(call)->kills++;
    if (kill_is_slow)
        return;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (known[i].running)
            finish(known[i].call, ERR_INTERRUPTED);
    }
}

static inline void expect(struct call *call)
{
    leave("expect", call);
}

static inline void late(struct call *call)
{
    assert_true(known_of(call)->running);
}

/* --- tools and policy */

static inline int judge(void *self, struct call *call, struct err *err)
{
    (void)self;
    if (policy_refuses)
        return err_set(err, ERR_POLICY_DENIED, "no");
    call->verdict.kind = policy_asks ? VERDICT_ASK : VERDICT_ALLOW;
    call->verdict.as_named = policy_looks_at_paths;
    return 0;
}

static inline void hold(void *self, struct call *call)
{
    (void)self;
    leave("hold", call);
    known_of(call)->holds++;
    known_of(call)->held = true;
}

static inline void forget(void *self, struct call *call)
{
    (void)self;
    leave("forget", call);
    known_of(call)->forgets++;
    assert_true(known_of(call)->held);
    known_of(call)->held = false;
}

/* Someone says yes, or no. */
static inline void decide(size_t number, bool yes)
{
    struct known *k = &known[number];
    struct err err;
    assert_true(k->held);
    k->held = false;
    k->approved = yes;
    k->call->approved = yes;
    err_set(&err, ERR_APPROVAL_DENIED, "someone says no");
    pipeline_resume(k->call, yes ? NULL : &err);
}

static inline bool costs(void *self, const struct call *call)
{
    (void)self;
    known_of(call)->must_pay = policy_costs;
    return policy_costs;
}

static inline int open_books(void *self, struct err *err)
{
    (void)self;
    assert_false(books_open);
    if (books_are_taken)
        return err_set(err, ERR_INTERNAL, "someone has them"), 1;
    books_open = true;
    return 0;
}

static struct known *charged[CALLS_MAX];
static size_t n_charged;

static inline int charge(void *self, struct call *call, struct err *err)
{
    (void)self;
    assert_true(books_open);
    if (no_money)
        return err_set(err, ERR_BUDGET_EXCEEDED, "nothing left");
    leave("charge", call);
    known_of(call)->charges++;
    charged[n_charged++] = known_of(call);
    return 0;
}

static inline int close_books(void *self, struct err *err)
{
    (void)self;
    assert_true(books_open);
    books_open = false;
    for (size_t i = 0; i < n_charged; i++)
        charged[i]->paid = !books_fail;
    n_charged = 0;
    return books_fail ? err_set(err, ERR_DISK_FULL, "no room for the books") : 0;
}

static inline void settle(void *self, struct call *call)
{
    (void)self;
    known_of(call)->settles++;
    known_of(call)->cut_off = call->cut_off;
    assert_true(known_of(call)->paid);
}

static inline int prepare(struct call *call, struct err *err)
{
    (void)call;
    (void)err;
    return 0;
}

struct work_args {
    int64_t size;
};
static const struct arg work_args[] = {
    {.name = "size", .type = ARG_INT, .offset = offsetof(struct work_args, size), .max = 9},
};
static const struct tool work = {
    .dialect = DIALECT_NATIVE,
    .name = "work",
    .args = ARG_TABLE(work_args, struct work_args),
    .capabilities = CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare,
};
static const struct tool look = {
    .dialect = DIALECT_NATIVE,
    .name = "look",
    .args = ARG_TABLE(work_args, struct work_args),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare,
};
static const struct tool *const tools[] = {&work, &look, NULL};

/* --- the front */

static inline void answered(struct call *call)
{
    struct known *k = known_of(call);
    k->answers++;
    k->unsafe = k->outcome_at > durable;
    k->failed = call->failed;
    k->code = call->failed ? call->err.code : ERR_COUNT;
    snprintf(k->message, sizeof k->message, "%s", call->failed ? call->err.message : "");
    k->call = NULL;
    buf_addf(&trace, "answer %d %s; ", (int)(k - known),
             call->failed ? err_row(call->err.code)->name : "ok");
    call_free(call);
}

static struct workplace workplace = {.tier = {.id = TIER_FULL}, .session_id = ""};

static inline struct call *new_call(size_t number, const char *tool, const char *arguments)
{
    struct call *call = call_new();
    known[number] = (struct known){.call = call};
    call->name = mem_dup(tool);
    call->doc = parsed(arguments);
    call->arguments = yyjson_doc_get_root(call->doc);
    call->dialect = &dialect_native;
    call->workplace = &workplace;
    call->answer = answered;
    call->front = &known[number];
    return call;
}

static inline void submit(size_t number)
{
    pipeline_submit(&pipeline, new_call(number, "work", "{}"));
}

/* --- each test */

static const struct runner runners[RUN_COUNT] = {
    [RUN_WORKER] = {start, cancel, kill_all, late, expect},
};

static inline int set_up(void **state)
{
    (void)state;
    memset(known, 0, sizeof known);
    recorded = flushed = durable = n_waiters = 0;
    flush_fails = disk_is_slow = finish_at_once = kill_is_slow = policy_refuses = false;
    policy_looks_at_paths = false;
    policy_asks = policy_costs = books_are_taken = books_fail = no_money = books_open = false;
    n_charged = 0;
    buf_init(&trace, 1u << 24);
    workplace.unsettled = false;
    registry_use(tools);
    pipeline = (struct pipeline){
        .timeout_ms = 10000,
        .policy = {.judge = judge,
                   .hold = hold,
                   .forget = forget,
                   .costs = costs,
                   .open = open_books,
                   .charge = charge,
                   .close = close_books,
                   .settle = settle},
        .recorder = {record_intent, record_outcome, flush, wait_durable, &recorded},
        .runners = runners,
    };
    if (uv_loop_init(&loop) < 0)
        return -1;
    pipeline_init(&pipeline, &loop);
    return 0;
}

/* Nothing may be left over. */
static inline int tear_down(void **state)
{
    (void)state;
    size_t left = pipeline_in_flight(&pipeline);
    pipeline_done(&pipeline);
    uv_run(&loop, UV_RUN_DEFAULT);
    buf_done(&trace);
    return uv_loop_close(&loop) < 0 || left || n_waiters ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
