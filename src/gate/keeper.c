#include "gate/keeper.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/call_limits.h"
#include "gate/explain_exec.h"
#include "gate/explain_files.h"
#include "gate/keeper_parts.h"
#include "gate/remember.h"
#include "gate/summary.h"

struct policy_call keeper_call(const struct keeper *k, const struct call *call)
{
    const struct workplace *at = call->workplace;
    bool command = tool_runs_programs(call->tool);
    return (struct policy_call){
        .tool = call->tool,
        .name = call->tool ? call->tool->name : call->name,
        .arguments = call->arguments,
        .agent = call->agent,
        .session = at->session_id,
        .roots = command ? at->command_roots : at->roots,
        .n_roots = command ? at->n_command_roots : at->n_roots,
        .base = command ? at->command_base : at->base,
        .input = call->input_fd >= 0 && !call->typed,
        .own_hand = k->options.own_hand,
        .mcp = k->options.mcp,
        .overlay = at->overlay,
    };
}

void keeper_session_key(const struct keeper *k, const struct call *call, char *out, size_t size)
{
    if (call->workplace->session_id[0])
        snprintf(out, size, "%s", call->workplace->session_id);
    else
        snprintf(out, size, "gate:%s", k->audit ? audit_gate_id(k->audit) : "");
}

void keeper_digest(const struct keeper *k, const struct call *call, char out[HASH_HEX + 1])
{
    char session[96];
    keeper_session_key(k, call, session, sizeof session);
    call_digest(call, session, out);
}

/* --- judging */

static void lift(struct keeper *k, struct call *call, const struct policy_call *pc)
{
    const struct allowed *allowed = keeper_allowed(k, call);
    const char *name = allowed_find(allowed, pc, call->dialect->name,
                                    call->workplace->roots[0].host);
    if (!name)
        return;
    call->verdict.kind = VERDICT_ALLOW;
    call->verdict.git |= call->verdict.wants_git;
    call->verdict.as_named |= allowed_by_path(allowed, name);
    allowed_limit(allowed, name, pc, &call->verdict);
    snprintf(call->verdict.rule, sizeof call->verdict.rule, "%s", name);
}

static int compare_rules(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A call may outlive the policy that it was judged by: settings change while it waits. */
static void keep_names(struct keeper *k, struct verdict *v)
{
    for (size_t i = 0; i < v->n_charges; i++) {
        char **kept = tfind(v->charges[i].rule, &k->rule_names, compare_rules);
        if (!kept)
            kept = tsearch(mem_dup(v->charges[i].rule), &k->rule_names, compare_rules);
        if (!kept)
            abort();
        v->charges[i].rule = *kept;
    }
}

static int judge_kept_call(void *self, struct call *call, struct err *err)
{
    struct keeper *k = self;
    const struct policy *policy = keeper_policy(k, call->workplace->config, err);
    struct policy_call pc = keeper_call(k, call);
    if (!policy || policy_judge(policy, &pc, &call->verdict, NULL, NULL, err) < 0 ||
        call_limits_check(call, err) < 0 || session_check_limits(call, err) < 0)
        return -1;
    keep_names(k, &call->verdict);
    call->verdict.hooks = hooks_ask(k->hooks, call);
    if (call->verdict.kind == VERDICT_ASK)
        lift(k, call, &pc);
    return 0;
}

/* --- explaining */

static void explain_charge(struct keeper *k, const struct charge *charge, policy_step_fn step,
                           void *arg)
{
    struct err err;
    int64_t used = 0;
    int64_t since = 0;
    int64_t next = 0;
    char until[CLOCK_TEXT_MAX];
    char why[256];
    int64_t now = clock_unix_ms();
    int r = counters_look(k->db, charge, 1, now, &used, &err);
    period_around(charge->period, now, &since, &next);
    clock_format_utc(next, until);
    if (charge->window_ms)
        snprintf(why, sizeof why, "%lld of %lld calls used in the last %lld ms", (long long)used,
                 (long long)charge->limit, (long long)charge->window_ms);
    else
        snprintf(why, sizeof why, "%lld of %lld %s used, %s; starts anew at %s", (long long)used,
                 (long long)charge->limit,
                 charge->unit == CHARGE_MS ? "milliseconds" : charge_unit_names[charge->unit],
                 charge_period_names[charge->period], until);
    step(arg, &(struct policy_step){charge->rule, r < 0 ? "denies" : "counts", why});
}

int keeper_explain(struct keeper *k, struct call *call, policy_step_fn step, void *arg,
                   struct err *err)
{
    const struct policy *policy = keeper_policy(k, call->workplace->config, err);
    struct policy_call pc = keeper_call(k, call);
    if (!policy)
        return -1;
    int r = policy_judge(policy, &pc, &call->verdict, step, arg, err);
    explain_exec(policy, call, step, arg);
    if (r < 0 || (call->tool && explain_files(call, &pc, step, arg, err) < 0))
        return -1;
    struct verdict *v = &call->verdict;
    if (v->kind == VERDICT_ASK) {
        lift(k, call, &pc);
        if (v->kind == VERDICT_ALLOW)
            step(arg, &(struct policy_step){v->rule, "allows", "someone approved it before"});
    }
    for (size_t i = 0; i < v->n_charges; i++) {
        v->charges[i].amount = 1;
        explain_charge(k, &v->charges[i], step, arg);
    }
    return v->n_charges ? counters_look(k->db, v->charges, v->n_charges, clock_unix_ms(), NULL, err)
                        : 0;
}

const struct tool **keeper_offered(struct keeper *k, const struct config *config,
                                   enum dialect_id dialect, const char *agent)
{
    struct err ignored; /* where rules cannot be read nothing runs */
    const struct policy *policy = keeper_policy(k, config, &ignored);
    return policy ? policy_offered(policy, dialect, agent) : mem_zero(sizeof(struct tool *));
}

int keeper_reset(struct keeper *k, struct err *err)
{
    return counters_reset(k->db, err);
}

struct policy_hook keeper_hook(struct keeper *k)
{
    return (struct policy_hook){
        .judge = judge_kept_call,
        .self = k,
        .hold = keeper_hold,
        .forget = keeper_forget,
        .costs = keeper_costs,
        .open = keeper_open_books,
        .charge = keeper_charge,
        .close = keeper_close_books,
        .restrain = keeper_restrain,
        .settle = keeper_settle,
    };
}

bool keeper_has_hooks(const struct keeper *k)
{
    return k->hooks != NULL;
}

void keeper_after(struct keeper *k, const struct call *call)
{
    keeper_sum_later(k);
    if (k->hooks && call->tool)
        hooks_after(k->hooks, call);
}

/* --- life */

int keeper_new(struct keeper **ret_keeper, const struct keeper_options *options, struct err *err)
{
    struct keeper *k = mem_zero(sizeof *k);
    k->options = *options;
    uv_timer_init(options->loop, &k->poll);
    uv_timer_init(options->loop, &k->settle);
    uv_timer_init(options->loop, &k->sums);
    uv_unref((uv_handle_t *)&k->settle);
    uv_unref((uv_handle_t *)&k->sums);
    k->poll.data = k->settle.data = k->sums.data = k;
    if (keeper_policy(k, options->config, err) == NULL ||
        db_open(&k->db, options->state_fd, options->durable, err) < 0 ||
        hooks_new(&k->hooks, options->loop, options->config, options->state_fd,
                  session_workplace(options->session), err) < 0) {
        keeper_free(k);
        return -1;
    }
    /* The thread that notes the log's heads has time for that. */
    db_leave_checkpoints(k->db);
    *ret_keeper = k;
    return 0;
}

struct db *keeper_db(struct keeper *k)
{
    return k->db;
}

void keeper_use_audit(struct keeper *k, struct audit *audit)
{
    k->audit = audit;
    hooks_use_audit(k->hooks, audit);
}

static void keeper_closed(uv_handle_t *handle)
{
    struct keeper *k = handle->data;
    if (handle == (uv_handle_t *)&k->poll)
        uv_close((uv_handle_t *)&k->settle, keeper_closed);
    else if (handle == (uv_handle_t *)&k->settle)
        uv_close((uv_handle_t *)&k->sums, keeper_closed);
    else
        free(k);
}

void keeper_free(struct keeper *k)
{
    if (!k)
        return;
    hooks_free(k->hooks);
    /* Closing them takes turns of the loop, and none of them may fire in one. */
    uv_timer_stop(&k->poll);
    uv_timer_stop(&k->settle);
    uv_timer_stop(&k->sums);
    if (k->db)
        keeper_settle_all(k);
    if (k->audit)
        audit_give_db(k->audit, k->db);
    else
        db_close(k->db);
    keeper_forget_kept(&k->allowed);
    keeper_forget_kept(&k->policies);
    tdestroy(k->rule_names, free);
    uv_close((uv_handle_t *)&k->poll, keeper_closed);
}
