/* From a request to its record: registry, arguments, verdict, approval, cost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "core/denials.h"
#include "core/pipeline_parts.h"

/* Another process that has the books is given this long. */
#define BOOKS_PATIENCE_NS 5000000000u
#define BOOKS_RETRY_MS 5

uint64_t pipeline_settings_of(const struct call *call)
{
    const struct workplace *at = call->workplace;
    return at && at->config ? config_edition(at->config) : 0;
}

/* --- what calls cost */

static void expect_bytes(struct call *call)
{
    struct pipeline *p = call->pipeline;
    p->expected -= call->expected;
    call->expected = (call->copies ? call->copies : 1) * call_expected_bytes(call);
    p->expected += call->expected;
}

/* All that had to be asked and paid is: what is left is its record. */
static void record_intent(struct call *call)
{
    struct pipeline *p = call->pipeline;
    struct err err;
    /* Builtin work is done by its preparation, and so not any earlier. */
    if (runner_kinds[call->tool->runner].in_prepare) {
        if (call->tool->prepare(call, &err) < 0) {
            pipeline_finish(call, &err);
            return;
        }
        expect_bytes(call);
    }
    call->state = CALL_RECORDED;
    p->recorder.intent(p->recorder.self, call);
    call_list_add(&p->to_start, call);
}

static void fail_uncharged(struct pipeline *p, const struct err *err)
{
    struct call_list list = call_list_take(&p->to_charge);
    for (struct call *call = list.first, *next; call; call = next) {
        next = call->next;
        pipeline_finish(call, err);
    }
}

static void charge_each(struct pipeline *p)
{
    const struct policy_hook *policy = &p->policy;
    struct call_list list = call_list_take(&p->to_charge);
    struct err err;
    for (struct call *call = list.first; call; call = call->next)
        call->charged = policy->charge(policy->self, call, &call->err) == 0;
    bool closed = policy->close(policy->self, &err) == 0;
    for (struct call *call = list.first, *next; call; call = next) {
        next = call->next;
        bool good = call->charged;
        call->charged = good && closed;
        if (call->charged)
            record_intent(call);
        else
            pipeline_finish(call, good ? &err : &call->err);
    }
}

static void books_again(uv_timer_t *timer)
{
    (void)timer; /* the turn that follows tries */
}

void pipeline_charge_all(struct pipeline *p)
{
    struct err err;
    if (!p->to_charge.first || uv_is_active((uv_handle_t *)&p->books))
        return;
    int r = p->policy.open(p->policy.self, &err);
    if (r == 0) {
        p->books_wait_ns = 0;
        charge_each(p);
        return;
    }
    uint64_t now = clock_mono_ns();
    if (r > 0 && (p->books_wait_ns == 0 || now < p->books_wait_ns)) {
        if (p->books_wait_ns == 0)
            p->books_wait_ns = now + BOOKS_PATIENCE_NS;
        uv_timer_start(&p->books, books_again, BOOKS_RETRY_MS, 0);
        return;
    }
    p->books_wait_ns = 0;
    fail_uncharged(p, &err);
}

/* --- from a request to its start */

/* A command's time is its preparation's business. */
static void limit_time(struct call *call)
{
    uint64_t end = call->start_ns + (uint64_t)call->verdict.max_ms * 1000000u;
    if (call->verdict.max_ms > 0 && !tool_runs_programs(call->tool) && end < call->deadline_ns)
        call->deadline_ns = end;
}

static int judge_call(struct call *call, struct err *err)
{
    const struct policy_hook *policy = &call->pipeline->policy;
    call->edition = pipeline_settings_of(call);
    verdict_done(&call->verdict);
    if (policy->judge(policy->self, call, err) < 0)
        return -1;
    limit_time(call);
    return 0;
}

static int prepare_call(struct call *call, struct err *err)
{
    return runner_kinds[call->tool->runner].in_prepare ? 0 : call->tool->prepare(call, err);
}

int pipeline_recheck(struct call *call, struct err *err)
{
    if (call->direct)
        return 0;
    /* It has paid by the verdict that it had, which goes on to hold for that. */
    struct verdict paid = call->verdict;
    call->verdict = (struct verdict){0};
    int r = judge_call(call, err);
    bool asks = r == 0 && !call->approved && (call->verdict.kind == VERDICT_ASK);
    if (asks)
        err_set(err, ERR_POLICY_DENIED,
                "the settings changed while the call was on its way, and now someone has to be "
                "asked about it by the rule %s: call again",
                call->verdict.rule);
    /* A rule about paths that holds now has to hold for what is opened. */
    paid.as_named |= call->verdict.as_named;
    denials_unref(paid.denied);
    paid.denied = TAKE_PTR(call->verdict.denied);
    /* A person who was asked by a hook, which the settings know nothing of, approved more than the rule. */
    if (!call->approved) {
        free(paid.leaves);
        paid.leaves = TAKE_PTR(call->verdict.leaves);
        paid.leaves_n = call->verdict.leaves_n;
        paid.own_home = call->verdict.own_home;
    }
    verdict_done(&call->verdict);
    call->verdict = paid;
    if (r < 0 || asks || call->tool->prepare(call, err) < 0)
        return -1;
    const struct policy_hook *policy = &call->pipeline->policy;
    if (policy->restrain)
        policy->restrain(policy->self, call);
    return 0;
}

/* Its verdict is known and lets it run. */
static void pay(struct call *call)
{
    const struct policy_hook *policy = &call->pipeline->policy;
    if (policy->costs && policy->costs(policy->self, call)) {
        call->state = CALL_UNPAID;
        call_list_add(&call->pipeline->to_charge, call);
    } else {
        record_intent(call);
    }
}

static void hold_for_answer(struct call *call)
{
    struct pipeline *p = call->pipeline;
    call->state = CALL_HELD;
    p->expected -= call->expected;
    call->expected = 0;
    call_list_add(&p->held, call);
    p->policy.hold(p->policy.self, call);
}

static void go_on_after_verdict(struct call *call)
{
    bool asks = call->verdict.kind == VERDICT_ASK || call->verdict.hooks;
    struct err err;
    if (!asks)
        pay(call);
    else if (call->pipeline->policy.hold)
        hold_for_answer(call);
    else
        pipeline_finish(call,
                        (err_set(&err, ERR_POLICY_DENIED,
                                 "someone has to be asked about this call by the rule %s, and "
                                 "nobody can be",
                                 call->verdict.rule),
                         &err));
}

void pipeline_resume(struct call *call, const struct err *err)
{
    struct pipeline *p = call->pipeline;
    call_list_remove(&p->held, call);
    uint64_t waited = clock_mono_ns() - call->start_ns;
    call->start_ns += waited;
    if (call->deadline_ns != UINT64_MAX)
        call->deadline_ns += waited;
    call->waited_ms = (int64_t)(waited / 1000000);
    if (err) {
        pipeline_finish(call, err);
        return;
    }
    expect_bytes(call);
    pay(call);
}

/* What is under way may need the rest. */
static int check_memory(struct err *err)
{
    return reserve_is_whole() ? 0 : err_no_memory(err);
}

static int read_call(struct call *call, struct err *err)
{
    struct str name = {call->name, call->name ? strlen(call->name) : 0};
    if (check_memory(err) < 0)
        return -1;
    call->tool = registry_find(call->dialect->id, name, err);
    if (!call->tool)
        return -1;
    if (call->tool->args.size > sizeof call->args)
        return err_set(err, ERR_INTERNAL, "arguments of `%s` do not fit a call", call->tool->name);
    return call_adapt_arguments(call, err) < 0
               ? -1
               : tool_decode(call->tool, call->dialect->strict, call->arguments, &call->args, err);
}

static int check_new_call(struct call *call, struct err *err)
{
    return read_call(call, err) < 0 || judge_call(call, err) < 0 || prepare_call(call, err) < 0 ? -1
                                                                                                : 0;
}

void pipeline_settled(struct pipeline *p, const struct workplace *at)
{
    for (struct call *call = p->unsettled.first, *next; call; call = next) {
        struct err err;
        next = call->next;
        if (call->workplace != at)
            continue;
        call_list_remove(&p->unsettled, call);
        if (call->edition != pipeline_settings_of(call) &&
            (judge_call(call, &err) < 0 || prepare_call(call, &err) < 0))
            pipeline_finish(call, &err);
        else
            go_on_after_verdict(call);
    }
}

void pipeline_not_settled(struct pipeline *p, const struct workplace *at, const struct err *err)
{
    for (struct call *call = p->unsettled.first, *next; call; call = next) {
        next = call->next;
        if (call->workplace != at)
            continue;
        call_list_remove(&p->unsettled, call);
        pipeline_finish(call, err);
    }
}

static void begin_call(struct pipeline *p, struct call *call)
{
    call->pipeline = p;
    call->start_ns = clock_mono_ns();
    call->deadline_ns = call->start_ns + p->timeout_ms * 1000000u;
}

void pipeline_run_direct(struct pipeline *p, struct call *call)
{
    struct err err;
    begin_call(p, call);
    call->direct = true;
    if (read_call(call, &err) < 0 || call->tool->prepare(call, &err) < 0)
        pipeline_finish(call, &err);
    else
        pipeline_dispatch(p, call);
}

void pipeline_submit(struct pipeline *p, struct call *call)
{
    begin_call(p, call);
    p->in_flight++;
    call->workplace->calls++;
    snprintf(call->uid, sizeof call->uid, "%s-%" PRIu64, p->uid_prefix, ++p->next_uid);
    struct err err;
    /* A front that could not read the request has set the error already. */
    if (call->failed || check_new_call(call, &err) < 0) {
        pipeline_finish(call, call->failed ? &call->err : &err);
        return;
    }
    expect_bytes(call);
    if (call->workplace->unsettled)
        pipeline_await_settings(p, call);
    else
        go_on_after_verdict(call);
}
