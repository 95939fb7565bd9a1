#include "gate/hooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "gate/hook_input.h"
#include "gate/hooks_parts.h"

/* Programs that run at the same time, and calls that wait for theirs. */
#define RUNNING_MAX 16
#define WAITING_MAX 256
#define HELD_BYTES_MAX ((size_t)64 << 20)
/* Those that are told of calls have this long when the gate ends. */
#define LAST_MS 2000

static void kick(struct hooks *h);

/* --- jobs */

static struct job *job_new(struct hooks *h, const struct call *call, bool after)
{
    struct job *job = mem_zero(sizeof *job);
    job->owner = h;
    job->pipeline = call->pipeline;
    job->after = after;
    memcpy(job->uid, call->uid, sizeof job->uid);
    job->left = hook_list_match(&h->list, after, call->tool, call->name);
    buf_init(&job->input, HOOK_INPUT_MAX);
    *h->last = job;
    h->last = &job->next;
    h->count++;
    return job;
}

static void job_free(struct hooks *h, struct job *job)
{
    struct job **at = &h->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (!*at)
        h->last = at;
    h->count--;
    h->held_bytes -= job->input.len;
    buf_done(&job->input);
    hook_answer_done(&job->answer);
    free(job);
}

static size_t first_left(const struct job *job)
{
    return (size_t)__builtin_ctz(job->left);
}

static void take_answer(struct job *job, const struct hook_answer *one)
{
    hook_answer_add(&job->answer, one);
    job->over = job->left == 0 || job->forgotten ||
                (!job->after && job->answer.kind == VERDICT_DENY);
}

static void refuse_hook_job(struct job *job, bool busy, const char *why)
{
    struct hook_answer no = {.kind = VERDICT_DENY, .busy = busy};
    snprintf(no.rule, sizeof no.rule, "hooks[%zu]", first_left(job));
    snprintf(no.reason, sizeof no.reason, "%s was not asked: %s", no.rule, why);
    if (job->after)
        log_warning("%s", no.reason);
    job->left = 0;
    take_answer(job, &no);
}

static void fill_hook_input(struct job *job, const struct call *call)
{
    struct hooks *h = job->owner;
    if (job->left == 0) {
        job->over = true;
        return;
    }
    if (h->count > WAITING_MAX || h->held_bytes > HELD_BYTES_MAX) {
        refuse_hook_job(job, true, "too many calls wait for hooks; try again later");
        return;
    }
    hook_input_write(call, job->after, &job->input);
    h->held_bytes += job->input.len;
    if (job->input.failed)
        refuse_hook_job(job, false, "the arguments are too long for a hook");
}

/* --- asking */

static void hook_answered(struct call *call)
{
    struct job *job = call->front;
    struct hooks *h = job->owner;
    size_t i = first_left(job);
    HOOK_ANSWER_AT_END struct hook_answer one = {0};
    hook_run_end(&job->run, call, i, &h->list.all[i], &one);
    hook_record(job, call, &one);
    if (job->after && one.kind == VERDICT_DENY && !job->forgotten)
        log_warning("%s", one.reason);
    call_free(call);
    job->call = NULL;
    h->running--;
    job->left &= job->left - 1;
    take_answer(job, &one);
    kick(h);
}

static void start_hook(struct job *job)
{
    struct hooks *h = job->owner;
    job->call = hook_run_begin(&job->run, &h->list.all[first_left(job)], buf_str(&job->input));
    job->call->workplace = session_workplace(h->session);
    job->call->answer = hook_answered;
    job->call->front = job;
    h->running++;
    pipeline_run_direct(job->pipeline, job->call);
}

static struct job *find_over(const struct hooks *h)
{
    struct job *job = h->first;
    while (job && (!job->over || job->call))
        job = job->next;
    return job;
}

/* Whatever `done` does to the list, it is looked at anew. */
static void on_turn(uv_timer_t *timer)
{
    struct hooks *h = timer->data;
    for (struct job *job; (job = find_over(h));) {
        if (job->done && !job->forgotten) {
            job->forgotten = true;
            job->done(job->arg, &job->answer);
        }
        job_free(h, job);
    }
    for (struct job *job = h->first; job && h->running < RUNNING_MAX; job = job->next) {
        if (!job->over && !job->call)
            start_hook(job);
    }
}

/* A call ends in the midst of other work: those who wait for it are told by a timer, before the loop waits again. */
static void kick(struct hooks *h)
{
    uv_timer_start(&h->timer, on_turn, 0, 0);
}

void hooks_before(struct hooks *h, const struct call *call,
                  void (*done)(void *arg, const struct hook_answer *answer), void *arg)
{
    struct job *job = job_new(h, call, false);
    job->done = done;
    job->arg = arg;
    fill_hook_input(job, call);
    kick(h);
}

void hooks_after(struct hooks *h, const struct call *call)
{
    if (!h || h->closing || !hook_list_match(&h->list, true, call->tool, call->name))
        return;
    fill_hook_input(job_new(h, call, true), call);
    kick(h);
}

bool hooks_ask(const struct hooks *h, const struct call *call)
{
    return h && hook_list_match(&h->list, false, call->tool, call->name);
}

static void forget_hook_job(struct job *job)
{
    job->forgotten = true;
    job->over = true;
    if (!job->call)
        return;
    /* Nobody has time to wait for it either. */
    if (job->owner->closing)
        job->call->grace_ns = 1;
    pipeline_cancel(job->call, ERR_CANCELLED, "nobody waits for the answer");
}

void hooks_forget(struct hooks *h, void *arg)
{
    for (struct job *job = h ? h->first : NULL; job; job = job->next) {
        if (!job->after && job->arg == arg && !job->forgotten)
            forget_hook_job(job);
    }
    if (h)
        kick(h);
}

/* --- beginning and end */

void hooks_use_audit(struct hooks *h, struct audit *audit)
{
    if (h)
        h->audit = audit;
}

static void forget_all(struct hooks *h, bool told_too)
{
    for (struct job *job = h->first; job; job = job->next) {
        if (told_too || !job->after)
            forget_hook_job(job);
    }
}

static void run_down(struct hooks *h)
{
    uint64_t end = clock_mono_ns() + (uint64_t)LAST_MS * 1000000u;
    h->closing = true;
    forget_all(h, false);
    kick(h);
    while (h->first) {
        uint64_t now = clock_mono_ns();
        if (now >= end)
            forget_all(h, true);
        if (!uv_is_active((uv_handle_t *)&h->timer))
            uv_timer_start(&h->timer, on_turn, now < end ? (end - now) / 1000000u + 1 : 1, 0);
        uv_run(h->loop, UV_RUN_ONCE);
    }
}

static void hooks_closed(uv_handle_t *handle)
{
    struct hooks *h = handle->data;
    h->loop = NULL;
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    uv_loop_t *loop = h->loop;
    if (loop) {
        run_down(h);
        uv_close((uv_handle_t *)&h->timer, hooks_closed);
    }
    session_free(h->session);
    while (h->loop)
        uv_run(loop, UV_RUN_NOWAIT);
    hook_list_done(&h->list);
    config_free(h->config);
    free(h);
}

static void hooks_freep(struct hooks **h)
{
    hooks_free(*h);
}

int hooks_new(struct hooks **ret, uv_loop_t *loop, const struct config *config, int state_fd,
              const struct workplace *hidden, struct err *err)
{
    CLEANUP(hooks_freep) struct hooks *h = mem_zero(sizeof *h);
    h->last = &h->first;
    *ret = NULL;
    if (hook_list_read(config, &h->list, err) < 0)
        return -1;
    if (h->list.count == 0)
        return 0;
    if (hook_session_new(h, loop, config, state_fd, hidden, err) < 0)
        return -1;
    h->loop = loop;
    uv_timer_init(loop, &h->timer);
    h->timer.data = h;
    uv_unref((uv_handle_t *)&h->timer);
    /* Someone will wait for the first answer. */
    for (size_t i = 0; i < h->list.count; i++) {
        if (!h->list.all[i].after) {
            session_warm_up(h->session);
            break;
        }
    }
    *ret = TAKE_PTR(h);
    return 0;
}
