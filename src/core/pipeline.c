#include "core/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"

#define TICK_MS 25
#define TICK_NS ((uint64_t)TICK_MS * 1000000)
#define LATE_NS 20000000u
/* A cancelled call has this long to say how it ended before its cell is ended with it. */
#define CANCEL_GRACE_NS 2000000000u

/* Calls whose records are on their way to disk together. */
struct batch {
    struct pipeline *pipeline;
    struct call_list start;
    struct call_list answer;
};

static void list_add(struct call_list *list, struct call *call)
{
    call->prev = list->last;
    call->next = NULL;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
    list->count++;
}

static void list_remove(struct call_list *list, struct call *call)
{
    if (call->prev)
        call->prev->next = call->next;
    else
        list->first = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        list->last = call->prev;
    call->next = call->prev = NULL;
    list->count--;
}

static struct call_list list_take(struct call_list *list)
{
    struct call_list taken = *list;
    *list = (struct call_list){0};
    return taken;
}

static void answer(struct pipeline *p, struct call *call)
{
    p->in_flight--;
    call->answer(call);
}

static void tick(uv_timer_t *timer)
{
    struct pipeline *p = timer->data;
    uint64_t now = clock_mono_ns();
    uint64_t next_ns = now + TICK_NS; /* when to look again */
    if (!p->running.first)
        uv_timer_stop(timer);
    for (struct call *call = p->running.first, *next; call; call = next) {
        next = call->next;
        const struct runner *runner = &p->runners[call->tool->runner];
        if (call->kill_ns && now >= call->kill_ns) {
            call->kill_ns = UINT64_MAX;
            runner->kill(runner->self, call);
            return; /* killing a cell finishes all its calls: the list is not what it was */
        }
        if (now - call->start_ns > LATE_NS)
            runner->late(runner->self, call);
        if (!call->kill_ns && now >= call->deadline_ns)
            pipeline_cancel(call, ERR_TIMEOUT, "the call took longer than its time limit");
        else if (!call->kill_ns && call->deadline_ns < next_ns)
            next_ns = call->deadline_ns;
    }
    if (p->running.first && next_ns < now + TICK_NS)
        uv_timer_start(timer, tick, (next_ns - now) / 1000000 + 1, TICK_MS);
}

static void dispatch(struct pipeline *p, struct call *call)
{
    const struct runner *runner = &p->runners[call->tool->runner];
    call->state = CALL_RUNNING;
    list_add(&p->running, call);
    if (!uv_is_active((uv_handle_t *)&p->deadlines))
        uv_timer_start(&p->deadlines, tick, TICK_MS, TICK_MS);
    runner->start(runner->self, call);
}

static void fail_batch(struct call_list *list, const struct err *err)
{
    for (struct call *call = list->first; call; call = call->next) {
        call->failed = true;
        call->err = *err;
    }
}

static uint64_t settings_of(const struct call *call)
{
    const struct workplace *at = call->workplace;
    return at && at->config ? config_edition(at->config) : 0;
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
        list_remove(&batch->start, call);
        if (call->kill_ns || status < 0) {
            if (!call->kill_ns)
                pipeline_finish(call, &err);
            else
                pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
        } else if (call->edition != settings_of(call) && pipeline_recheck(call, &err) < 0) {
            /* The workspace's own settings became known while its intent was written. */
            pipeline_finish(call, &err);
        } else {
            dispatch(p, call);
        }
    }
    if (status < 0)
        fail_batch(&batch->answer, &err);
    for (struct call *call = batch->answer.first, *next; call; call = next) {
        next = call->next;
        list_remove(&batch->answer, call);
        answer(p, call);
    }
    free(batch);
}

/* Without its record nothing starts and nothing is answered as done. */
static void refuse_unrecorded(struct pipeline *p, const struct err *err)
{
    struct call_list done = list_take(&p->to_answer);
    struct call_list start = list_take(&p->to_start);
    fail_batch(&done, err);
    fail_batch(&start, err);
    /* Should the log become writable again, their intents get the outcome that belongs to them. */
    for (struct call *call = start.first; call; call = call->next)
        p->recorder.outcome(p->recorder.self, call);
    struct call_list *both[] = {&done, &start};
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        for (struct call *call = both[i]->first, *next; call; call = next) {
            next = call->next;
            call->end_ns = clock_mono_ns();
            answer(p, call);
        }
    }
}

static void advance(struct pipeline *p)
{
    while (p->to_start.first || p->to_answer.first) {
        struct err err;
        if (p->recorder.flush(p->recorder.self, &err) < 0) {
            refuse_unrecorded(p, &err);
            continue;
        }
        struct batch *batch = mem_zero(sizeof *batch);
        batch->pipeline = p;
        batch->start = list_take(&p->to_start);
        batch->answer = list_take(&p->to_answer);
        p->recorder.wait_durable(p->recorder.self, release, batch);
    }
}

static void turn(uv_prepare_t *handle)
{
    struct pipeline *p = handle->data;
    /* A front that had lines waiting submits them when the turn has settled, and then the loop waits. */
    do {
        advance(p);
        if (p->settled)
            p->settled(p->settled_arg);
    } while (p->to_start.first || p->to_answer.first);
    for (size_t i = 0; i < RUN_COUNT; i++) {
        if (p->runners[i].flush)
            p->runners[i].flush(p->runners[i].self);
    }
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
}

void pipeline_done(struct pipeline *p)
{
    uv_close((uv_handle_t *)&p->turn, NULL);
    uv_close((uv_handle_t *)&p->deadlines, NULL);
}

int pipeline_recheck(struct call *call, struct err *err)
{
    const struct policy_hook *policy = &call->pipeline->policy;
    call->edition = settings_of(call);
    if (policy->check(policy->self, call, err) < 0)
        return -1;
    return call->tool->prepare(call, err);
}

static int check(struct call *call, struct err *err)
{
    struct str name = {call->name, call->name ? strlen(call->name) : 0};
    call->tool = registry_find(call->dialect->id, name, err);
    if (!call->tool)
        return -1;
    if (call->tool->args.size > sizeof call->args)
        return err_set(err, ERR_INTERNAL, "arguments of `%s` do not fit a call", call->tool->name);
    if (arg_decode(&call->tool->args, call->dialect->strict, call->arguments, &call->args, err) < 0)
        return -1;
    return pipeline_recheck(call, err);
}

void pipeline_submit(struct pipeline *p, struct call *call)
{
    call->pipeline = p;
    p->in_flight++;
    call->start_ns = clock_mono_ns();
    call->deadline_ns = call->start_ns + p->timeout_ms * 1000000u;
    snprintf(call->uid, sizeof call->uid, "%s-%" PRIu64, p->uid_prefix, ++p->next_uid);
    struct err err;
    /* A front that could not read the request has set the error already. */
    if (!call->failed && check(call, &err) == 0) {
        call->state = CALL_RECORDED;
        p->recorder.intent(p->recorder.self, call);
        list_add(&p->to_start, call);
        return;
    }
    pipeline_finish(call, call->failed ? &call->err : &err);
}

void pipeline_finish(struct call *call, const struct err *err)
{
    struct pipeline *p = call->pipeline;
    if (call->state == CALL_DONE)
        return;
    if (call->state == CALL_RUNNING)
        list_remove(&p->running, call);
    call->end_ns = clock_mono_ns();
    if (!err && call->tool->judge && call->tool->judge(call, &call->err) < 0)
        err = &call->err;
    if (err) {
        call->failed = true;
        if (err != &call->err)
            call->err = *err;
        if (call->kill_ns && (err->code == ERR_CANCELLED || err->code == ERR_INTERRUPTED))
            err_set(&call->err, call->cancel_code, "%s", call->cancel_why);
    }
    p->recorder.outcome(p->recorder.self, call);
    call->state = CALL_DONE;
    list_add(&p->to_answer, call);
}

void pipeline_cancel(struct call *call, enum err_code code, const char *why)
{
    if (call->state == CALL_DONE || call->kill_ns)
        return;
    call->cancel_code = code;
    snprintf(call->cancel_why, sizeof call->cancel_why, "%s", why);
    call->kill_ns = clock_mono_ns() + (call->grace_ns ? call->grace_ns : CANCEL_GRACE_NS);
    if (call->state != CALL_RUNNING)
        return; /* release() ends it */
    const struct runner *runner = &call->pipeline->runners[call->tool->runner];
    runner->cancel(runner->self, call);
}

size_t pipeline_in_flight(const struct pipeline *p)
{
    return p->in_flight;
}
