#include "core/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/call_limits.h"
#include "core/pipeline_parts.h"

#define TICK_MS 25
#define TICK_NS ((uint64_t)TICK_MS * 1000000)
#define FLUSH_AGAIN_MS 1
#define LATE_NS 20000000u
/* A cancelled call has this long to say how it ended before its cell is ended with it. */
#define CANCEL_GRACE_NS 2000000000u

/* Calls whose records are on their way to disk together. */
struct batch {
    struct pipeline *pipeline;
    struct call_list start;
    struct call_list answer;
};

static const struct runner *runner_of(const struct call *call)
{
    return &call->pipeline->runners[call->tool->runner];
}

static void answer_call(struct pipeline *p, struct call *call)
{
    p->in_flight--;
    call->workplace->calls--;
    p->expected -= call->expected;
    call->answer(call);
}

static void end_late(struct call *call)
{
    char why[sizeof call->cancel_why] = "the call took longer than its time limit";
    char rule[CALL_RULE_MAX];
    if (call->verdict.max_ms > 0) {
        call_limit_rule(call, "maxDuration", rule);
        snprintf(why, sizeof why, "the call took longer than its time limit, %s (%" PRId64 " ms)",
                 rule, call->verdict.max_ms);
    }
    pipeline_cancel(call, ERR_TIMEOUT, why);
}

/* A workplace whose settings do not become known in time is begun anew. */
static void tick_unsettled(struct pipeline *p, uint64_t now)
{
    struct call *call = p->unsettled.first;
    while (call && now < call->deadline_ns)
        call = call->next;
    if (!call)
        return;
    runner_of(call)->kill(call);
    if (call->state == CALL_UNSETTLED)
        end_late(call);
}

static void tick(uv_timer_t *timer)
{
    struct pipeline *p = timer->data;
    uint64_t now = clock_mono_ns();
    uint64_t next_ns = now + TICK_NS; /* when to look again */
    tick_unsettled(p, now);
    if (!p->running.first && !p->unsettled.first)
        uv_timer_stop(timer);
    for (struct call *call = p->running.first, *next; call; call = next) {
        next = call->next;
        if (call->kill_ns && now >= call->kill_ns) {
            call->kill_ns = UINT64_MAX;
            runner_of(call)->kill(call);
            return; /* killing a cell finishes all its calls: the list is not what it was */
        }
        if (now - call->start_ns > LATE_NS)
            runner_of(call)->late(call);
        if (!call->kill_ns && now >= call->deadline_ns)
            end_late(call);
        else if (!call->kill_ns && call->deadline_ns < next_ns)
            next_ns = call->deadline_ns;
    }
    if (p->running.first && next_ns < now + TICK_NS)
        uv_timer_start(timer, tick, (next_ns - now) / 1000000 + 1, TICK_MS);
}

static void watch_deadlines(struct pipeline *p)
{
    if (!uv_is_active((uv_handle_t *)&p->deadlines))
        uv_timer_start(&p->deadlines, tick, TICK_MS, TICK_MS);
}

void pipeline_dispatch(struct pipeline *p, struct call *call)
{
    call->state = CALL_RUNNING;
    call_list_add(&p->running, call);
    watch_deadlines(p);
    runner_of(call)->start(call);
}

void pipeline_await_settings(struct pipeline *p, struct call *call)
{
    call->state = CALL_UNSETTLED;
    call_list_add(&p->unsettled, call);
    watch_deadlines(p);
    runner_of(call)->expect(call);
}

/* A call that its runner had may have changed something, unless its tool only reads, or found no room to begin. */
static bool may_have_changed(const struct call *call)
{
    if (call->failed && (call->err.code == ERR_DISK_FULL || call->err.code == ERR_SESSION_BUSY))
        return false;
    return call->ran && (call->tool->capabilities & ~(unsigned)CAP_FS_READ) != 0;
}

/* `why` says that nothing was done and may be retryable: neither holds for a call that may have changed something. */
static void fail_unrecorded(struct call *call, const struct err *why)
{
    struct err err = *why;
    if (may_have_changed(call)) {
        if (call->failed)
            err_set(
                &err, ERR_INTERNAL,
                "the call failed (%.160s) and its outcome could not be recorded (%.160s); check "
                "what it did before repeating it",
                call->err.message, why->message);
        else
            err_set(&err, ERR_INTERNAL,
                    "the call was done, but its outcome could not be recorded (%.240s); check what "
                    "it did before repeating it",
                    why->message);
        err_reason(&err, "outcome_not_recorded");
    }
    call->failed = true;
    call->err = err;
}

static void fail_batch(struct call_list *list, const struct err *err)
{
    for (struct call *call = list->first; call; call = call->next)
        fail_unrecorded(call, err);
}

static void begin_recorded_call(struct pipeline *p, struct call *call)
{
    struct err err;
    if (call->kill_ns)
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else if (call->edition != pipeline_settings_of(call) && pipeline_recheck(call, &err) < 0)
        pipeline_finish(call, &err); /* the settings changed while its intent was written */
    else
        pipeline_dispatch(p, call);
}

static void release(void *arg, int status)
{
    struct batch *batch = arg;
    struct pipeline *p = batch->pipeline;
    struct err err;
    if (status < 0)
        err_set(&err, ERR_INTERNAL,
                "the audit log could not be made durable (%s); nothing runs without its record",
                strerror(-status));
    for (struct call *call = batch->start.first, *next; call; call = next) {
        next = call->next;
        call_list_remove(&batch->start, call);
        if (status < 0 && !call->kill_ns)
            pipeline_finish(call, &err);
        else
            begin_recorded_call(p, call);
    }
    if (status < 0)
        fail_batch(&batch->answer, &err);
    for (struct call *call = batch->answer.first, *next; call; call = next) {
        next = call->next;
        call_list_remove(&batch->answer, call);
        answer_call(p, call);
    }
    free(batch);
}

static void settle_charge(struct call *call)
{
    const struct policy_hook *policy = &call->pipeline->policy;
    if (call->charged && policy->settle)
        policy->settle(policy->self, call);
}

/* Without its record nothing starts and nothing is answered as a success. */
static void refuse_unrecorded(struct pipeline *p, const struct err *err)
{
    struct call_list done = call_list_take(&p->to_answer);
    struct call_list start = call_list_take(&p->to_start);
    fail_batch(&done, err);
    fail_batch(&start, err);
    /* Should the log become writable again, their intents get the outcome that belongs to them. */
    for (struct call *call = start.first; call; call = call->next) {
        call->end_ns = clock_mono_ns();
        settle_charge(call);
        p->recorder.outcome(p->recorder.self, call);
    }
    struct call_list *both[] = {&done, &start};
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        for (struct call *call = both[i]->first, *next; call; call = next) {
            next = call->next;
            call->end_ns = clock_mono_ns();
            answer_call(p, call);
        }
    }
}

/* Whoever changes nothing leaves nothing behind that a lost record would have to explain: a process that dies cannot
 * take the record with it any more, and the answer waits for the disk. */
static void begin_readers(struct pipeline *p, struct call_list *list)
{
    for (struct call *call = list->first, *next; call; call = next) {
        next = call->next;
        if (call->tool->capabilities & ~(unsigned)CAP_FS_READ || call->approved)
            continue;
        call_list_remove(list, call);
        begin_recorded_call(p, call);
    }
}

static void flush_again(uv_timer_t *timer)
{
    (void)timer; /* the turn that comes now does it */
}

static bool waits_for_records(const struct pipeline *p)
{
    return uv_is_active((const uv_handle_t *)&p->flushing);
}

static void advance(struct pipeline *p)
{
    while ((p->to_start.first || p->to_answer.first) && !waits_for_records(p)) {
        struct err err;
        int r = p->recorder.flush(p->recorder.self, &err);
        if (r > 0) {
            uv_timer_start(&p->flushing, flush_again, FLUSH_AGAIN_MS, 0);
            return;
        }
        if (r < 0) {
            refuse_unrecorded(p, &err);
            continue;
        }
        struct call_list start = call_list_take(&p->to_start);
        struct call_list done = call_list_take(&p->to_answer);
        begin_readers(p, &start);
        if (!start.first && !done.first)
            continue;
        struct batch *batch = mem_zero(sizeof *batch);
        *batch = (struct batch){.pipeline = p, .start = start, .answer = done};
        p->recorder.wait_durable(p->recorder.self, release, batch);
    }
}

static void answer_direct(struct pipeline *p)
{
    for (struct call *call; (call = p->direct_done.first);) {
        call_list_remove(&p->direct_done, call);
        call->answer(call);
    }
}

static void turn(uv_prepare_t *handle)
{
    struct pipeline *p = handle->data;
    /* A front that had lines waiting submits them when it hears of the turn's end, and then the loop waits. */
    do {
        answer_direct(p);
        pipeline_charge_all(p);
        advance(p);
        for (struct pipeline_listener *l = p->listeners; l; l = l->next)
            l->turned(l->arg);
    } while (((p->to_start.first || p->to_answer.first) && !waits_for_records(p)) ||
             p->direct_done.first ||
             (p->to_charge.first && !uv_is_active((uv_handle_t *)&p->books)));
    if (p->flush)
        p->flush();
}

void pipeline_init(struct pipeline *p, uv_loop_t *loop)
{
    p->loop = loop;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        abort();
    snprintf(p->uid_prefix, sizeof p->uid_prefix, "%016" PRIx64, random);
    uv_prepare_init(loop, &p->turn);
    p->turn.data = p;
    /* Stays referenced: a loop without any other handle must still take its turns. */
    uv_prepare_start(&p->turn, turn);
    uv_timer_init(loop, &p->deadlines);
    p->deadlines.data = p;
    uv_unref((uv_handle_t *)&p->deadlines);
    uv_timer_init(loop, &p->books);
    uv_timer_init(loop, &p->flushing);
}

void pipeline_listen(struct pipeline *p, struct pipeline_listener *listener)
{
    listener->next = p->listeners;
    p->listeners = listener;
}

void pipeline_unlisten(struct pipeline *p, struct pipeline_listener *listener)
{
    struct pipeline_listener **at = &p->listeners;
    while (*at && *at != listener)
        at = &(*at)->next;
    if (*at)
        *at = listener->next;
}

void pipeline_done(struct pipeline *p)
{
    uv_close((uv_handle_t *)&p->turn, NULL);
    uv_close((uv_handle_t *)&p->deadlines, NULL);
    uv_close((uv_handle_t *)&p->books, NULL);
    uv_close((uv_handle_t *)&p->flushing, NULL);
}

void pipeline_finish(struct call *call, const struct err *err)
{
    struct pipeline *p = call->pipeline;
    if (call->state == CALL_DONE)
        return;
    call->ran = call->state == CALL_RUNNING;
    if (call->ran)
        call_list_remove(&p->running, call);
    call->end_ns = clock_mono_ns();
    if (!err && call->tool->judge && call->tool->judge(call, &call->err) < 0)
        err = &call->err;
    if (err) {
        call->failed = true;
        call->cut_off = err->code == ERR_INTERRUPTED;
        if (err != &call->err)
            call->err = *err;
        if (call->kill_ns && (err->code == ERR_CANCELLED || err->code == ERR_INTERRUPTED))
            err_set(&call->err, call->cancel_code, "%s", call->cancel_why);
        if (call->command)
            command_tell_violations(call->command, call->err.message, sizeof call->err.message);
    }
    if (call->direct) {
        call->state = CALL_DONE;
        call_list_add(&p->direct_done, call);
        return;
    }
    settle_charge(call);
    p->recorder.outcome(p->recorder.self, call);
    call->state = CALL_DONE;
    call_list_add(&p->to_answer, call);
}

/* Takes a call that has not begun out of the list it waits in. */
static bool leave_queue(struct call *call)
{
    struct pipeline *p = call->pipeline;
    switch (call->state) {
    case CALL_UNSETTLED:
        call_list_remove(&p->unsettled, call);
        return true;
    case CALL_UNPAID:
        call_list_remove(&p->to_charge, call);
        return true;
    case CALL_HELD:
        call_list_remove(&p->held, call);
        p->policy.forget(p->policy.self, call);
        return true;
    default:
        return false;
    }
}

void pipeline_cancel(struct call *call, enum err_code code, const char *why)
{
    if (call->state == CALL_DONE || call->kill_ns)
        return;
    call->cancel_code = code;
    snprintf(call->cancel_why, sizeof call->cancel_why, "%s", why);
    call->kill_ns = clock_mono_ns() + (call->grace_ns ? call->grace_ns : CANCEL_GRACE_NS);
    if (leave_queue(call)) {
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    if (call->state != CALL_RUNNING)
        return; /* release() ends it */
    runner_of(call)->cancel(call);
}

size_t pipeline_in_flight(const struct pipeline *p)
{
    return p->in_flight - p->held.count;
}
