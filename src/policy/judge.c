#include "policy/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/denials.h"
#include "policy/leaves.h"
#include "policy/policy_parts.h"

/* One judgement. */
struct judgement {
    const struct policy *policy;
    const struct policy_call *call;
    const struct tool_view *view;
    struct facts facts;
    struct verdict *verdict;
    policy_step_fn step;
    void *step_arg;
    struct err *err;
};

static const char *judged_tool_name(const struct judgement *j)
{
    return j->call->tool ? j->call->tool->name : j->call->name;
}

static void report_judge_step(const struct judgement *j, const char *rule, const char *outcome,
                              const char *why)
{
    if (j->step)
        j->step(j->step_arg, &(struct policy_step){rule, outcome, why});
}

/* The error is there already; without a reason, that too. */
static int deny_judged_call(struct judgement *j, const char *reason)
{
    j->verdict->kind = VERDICT_DENY;
    report_judge_step(j, j->verdict->rule, "denies", j->err->message);
    return reason ? err_reason(j->err, reason) : -1;
}

static void decided_by(struct judgement *j, enum verdict_kind kind, const char *rule)
{
    j->verdict->kind = kind;
    size_t n = strlen(rule);
    n = n < sizeof j->verdict->rule ? n : sizeof j->verdict->rule - 1;
    memcpy(j->verdict->rule, rule, n);
}

/* --- what is kept from call to call */

static size_t name_slot_of(const char *text)
{
    size_t hash = 5381;
    for (; *text; text++)
        hash = hash * 33 ^ (unsigned char)*text;
    return hash ^ hash >> 16;
}

static bool is_view_of(const struct tool_view *view, const struct policy_call *call)
{
    return view->tool == call->tool && (call->tool || strcmp(view->name, call->name) == 0);
}

static struct tool_view *view_for(const struct policy *policy, const struct policy_call *call)
{
    struct policy_memo *memo = policy->memo;
    size_t at = call->tool ? (size_t)((uintptr_t)call->tool / sizeof(struct tool))
                           : name_slot_of(call->name);
    for (; memo->views[at % VIEWS_MAX]; at++) {
        if (is_view_of(memo->views[at % VIEWS_MAX], call))
            return memo->views[at % VIEWS_MAX];
    }
    struct tool_view *view = tool_view_new(policy, call->tool,
                                           call->tool ? call->tool->name : call->name);
    view->passing = memo->n_views >= VIEWS_MAX / 2 && !call->tool;
    if (memo->n_views + 1 >= VIEWS_MAX)
        view->passing = true;
    if (view->passing)
        return view;
    memo->views[at % VIEWS_MAX] = view;
    memo->n_views++;
    return view;
}

static const struct grants *grants_for(const struct policy *policy, const char *agent,
                                       struct err *err)
{
    struct policy_memo *memo = policy->memo;
    if (!agent)
        return memo->nameless;
    struct grants **slot = &memo->agents[name_slot_of(agent) % GRANTS_MAX];
    if (*slot && strcmp((*slot)->agent, agent) == 0)
        return *slot;
    struct grants *grants = grants_new(policy->config, agent, err);
    if (grants) {
        grants_free(*slot);
        *slot = grants;
    }
    return grants;
}

/* --- the steps */

static int check_enabled(struct judgement *j)
{
    if (!j->view->disabled) {
        report_judge_step(j, j->view->enabled, "allows", "");
        return 0;
    }
    decided_by(j, VERDICT_DENY, j->view->disabled);
    err_set(j->err, ERR_POLICY_DENIED,
            "the tool `%.100s` is switched off by the rule %.200s; use another tool",
            judged_tool_name(j), j->view->disabled);
    return deny_judged_call(j, "tool_disabled");
}

static int check_grants(struct judgement *j)
{
    struct err why;
    const struct grants *grants = grants_for(j->policy, j->call->agent, &why);
    if (!grants) {
        decided_by(j, VERDICT_DENY, why.field);
        err_set(j->err, ERR_POLICY_DENIED,
                "the tool `%.100s` is denied: what the agent is granted cannot be read: %.300s",
                judged_tool_name(j), why.message);
        return deny_judged_call(j, "rule_cannot_be_kept");
    }
    if (grants_check(grants, j->policy->config, &j->facts, j->verdict, j->err) < 0)
        return deny_judged_call(j, NULL);
    report_judge_step(j, "policy.capabilities", "allows", "");
    return 0;
}

/* In part is enough to say no, to ask and to count; only all of a call can be approved. */
static bool is_match(const struct rule *rule, enum condition_result result)
{
    return result == CONDITION_YES || (result == CONDITION_PARTLY && rule->action != RULE_APPROVE);
}

static int deny_by_rule(struct judgement *j, const struct rule *rule)
{
    decided_by(j, VERDICT_DENY, rule->name);
    if (rule->condition_text)
        err_set(j->err, ERR_POLICY_DENIED,
                "the tool `%.100s` is denied by the rule %s with these arguments: it is about "
                "calls with %.200s%s%s; do without, or ask the operator",
                judged_tool_name(j), rule->name, rule->condition_text,
                j->facts.doubt[0] ? ", and " : "", j->facts.doubt);
    else
        err_set(j->err, ERR_POLICY_DENIED,
                "the tool `%.100s` is denied by the rule %s; use another tool, or ask the operator",
                judged_tool_name(j), rule->name);
    return deny_judged_call(j, "denied_by_rule");
}

static int cannot_tell(struct judgement *j, const struct rule *rule)
{
    decided_by(j, VERDICT_DENY, rule->name);
    err_set(j->err, ERR_POLICY_DENIED,
            "the tool `%.100s` is denied: whether the rule %s is about this call cannot be told: "
            "%.250s",
            judged_tool_name(j), rule->name, j->facts.why);
    return deny_judged_call(j, "rule_cannot_be_kept");
}

static int apply(struct judgement *j, const struct rule *rule)
{
    switch (rule->action) {
    case RULE_DENY:
        return deny_by_rule(j, rule);
    case RULE_PROMPT:
        decided_by(j, VERDICT_ASK, rule->name);
        report_judge_step(j, rule->name, "asks", j->facts.doubt);
        return 0;
    case RULE_BUDGET:
        charges_add_rule(rule, j->verdict);
        decided_by(j, VERDICT_ALLOW, rule->name);
        report_judge_step(j, rule->name, "counts", "");
        return 0;
    case RULE_APPROVE:
        break;
    }
    decided_by(j, VERDICT_ALLOW, rule->name);
    j->verdict->git = rule->git && j->facts.needs & CAP_COMMAND;
    bool leaves = leaves_limit(rule->condition, &j->facts, j->verdict);
    leaves_choose_home(rule->condition, &j->facts, j->verdict);
    report_judge_step(j, rule->name, "allows",
                      j->verdict->git ? "and grants git"
                      : leaves ? "these programs start no others, and nothing else can be started"
                               : "");
    return 0;
}

/* An approval that holds for a part of the call: a person who is asked is told what the rest is. */
static void note_partial_match(struct judgement *j, const struct rule *rule)
{
    char why[300];
    const char *rest = j->facts.partly;
    snprintf(why, sizeof why, "its condition holds only for a part of the call%s%s",
             rest[0] ? ": " : "", rest);
    report_judge_step(j, rule->name, "does not match", why);
    if (rest[0] && !j->verdict->why[0])
        snprintf(j->verdict->why, sizeof j->verdict->why, "%.199s", rest);
    j->facts.partly[0] = '\0';
}

/* 1: it decided; 0: it is not about the call. */
static int try_approval_rule(struct judgement *j, const struct rule *rule, int *ret)
{
    j->facts.doubt[0] = '\0';
    enum condition_result result = rule->condition ? condition_judge(rule->condition, &j->facts)
                                                   : CONDITION_YES;
    if (result == CONDITION_ERROR) {
        *ret = cannot_tell(j, rule);
        return 1;
    }
    if (is_match(rule, result)) {
        *ret = apply(j, rule);
        return 1;
    }
    if (result == CONDITION_PARTLY)
        note_partial_match(j, rule);
    else
        report_judge_step(j, rule->name, "does not match", "its condition does not hold");
    return 0;
}

/* These dialects have no answer for a call that waits: without rules the sandbox alone is their boundary. */
static bool knows_no_approval(const struct judgement *j)
{
    const struct tool *tool = j->facts.tool;
    return tool && !j->call->mcp &&
           (tool->dialect == DIALECT_SIDECAR || tool->dialect == DIALECT_TOOLHOST ||
            tool->dialect == DIALECT_RUNNER);
}

/* The layer lies over the first folder alone. */
static int lies_beside_layer(void *data, const struct arg *arg, const struct place *place)
{
    const struct policy_call *call = data;
    (void)arg;
    return place->state == PLACE_KNOWN && call->roots && place->root != &call->roots[0];
}

/* Nothing of it reaches the project, another folder, the network or a model before the session's changes are taken over. */
static bool stays_in_layer(struct judgement *j)
{
    const unsigned leaves = CAP_NETWORK | CAP_MODEL;
    return j->call->overlay && j->facts.tool && !(j->facts.tool->flags & TOOL_ASKS) &&
           !(j->facts.needs & leaves) &&
           !facts_each_path(&j->facts, ARG_WRITES, lies_beside_layer, (void *)j->call);
}

static int apply_fallback(struct judgement *j)
{
    const unsigned changes = CAP_FS_WRITE | CAP_COMMAND | CAP_NETWORK | CAP_MODEL;
    bool layered = stays_in_layer(j);
    bool asks = j->facts.tool && j->facts.tool->flags & TOOL_ASKS;
    int action = layered ? j->policy->in_overlay : j->policy->fallback;
    const char *name = layered && (action < 0 || j->policy->in_overlay_own) ? "approval.inOverlay"
                                                                            : "approval.default";
    const char *why = "";
    if (asks && action != RULE_DENY) {
        action = RULE_PROMPT;
        why = "only a rule of approval.rules or a person approves this tool";
    } else if (action < 0 && layered) {
        action = RULE_APPROVE;
        why = "not set, and changes go to the session's layer";
    } else if (action < 0) {
        bool reads = j->facts.tool && !(j->facts.needs & changes);
        bool plain = knows_no_approval(j);
        action = reads || j->call->own_hand || plain ? RULE_APPROVE : RULE_PROMPT;
        why = reads               ? "not set, and the call only reads"
              : j->call->own_hand ? "not set, and a person typed it"
              : plain             ? "not set, and callers of this dialect do not expect to be asked"
                                  : "not set, and the call may change something";
    }
    if (action == RULE_DENY) {
        decided_by(j, VERDICT_DENY, name);
        err_set(j->err, ERR_POLICY_DENIED,
                "the tool `%.100s` is denied by the rule %s: no other rule is about this call",
                judged_tool_name(j), name);
        return deny_judged_call(j, "denied_by_rule");
    }
    decided_by(j, action == RULE_APPROVE ? VERDICT_ALLOW : VERDICT_ASK, name);
    report_judge_step(j, name, action == RULE_APPROVE ? "allows" : "asks", why);
    return 0;
}

/* For people every rule is looked at, one by one. */
static int explain_rules(struct judgement *j)
{
    int r;
    for (size_t i = 0; i < j->policy->n_rules; i++) {
        const struct rule *rule = &j->policy->rules[i];
        if (!tool_pattern_matches(&rule->tool, j->facts.tool, j->call->name)) {
            char why[160];
            snprintf(why, sizeof why, "it is about `%.120s`", rule->tool.text);
            report_judge_step(j, rule->name, "does not match", why);
        } else if (try_approval_rule(j, rule, &r)) {
            return r;
        }
    }
    return apply_fallback(j);
}

static int check_approval_rules(struct judgement *j)
{
    struct rule_walk walk;
    uint32_t number;
    int r;
    if (j->step)
        return explain_rules(j);
    rule_walk_begin(&walk, &j->view->index, &j->facts);
    while (rule_walk_next(&walk, &number)) {
        if (try_approval_rule(j, &j->policy->rules[number], &r))
            return r;
    }
    return apply_fallback(j);
}

/* A command that asks to write to git directories is asked about, unless a rule grants it or a person typed it and no
 * rule asks. */
static void check_git(struct judgement *j)
{
    struct verdict *v = j->verdict;
    bool wants = facts_wants_git(&j->facts);
    if (wants && j->call->overlay) {
        report_judge_step(j, "git", "allows", "git directories lie in the session's layer");
        return;
    }
    v->wants_git = wants;
    if (!v->wants_git || v->git)
        return;
    if (j->call->own_hand && v->kind == VERDICT_ALLOW) {
        v->git = true;
        report_judge_step(j, "git", "allows", "a person typed it");
        return;
    }
    verdict_ask(v);
    v->why[0] = '\0';
    report_judge_step(
        j, "git", "asks",
        "the call asks to write to git directories, which no rule grants that matches it");
}

static void report_limits(const struct judgement *j, size_t from)
{
    for (size_t i = from; j->step && i < j->verdict->n_charges; i++) {
        const struct charge *charge = &j->verdict->charges[i];
        char why[96];
        if (charge->window_ms)
            snprintf(why, sizeof why, "at most %lld calls in %lld ms", (long long)charge->limit,
                     (long long)charge->window_ms);
        else
            snprintf(why, sizeof why, "at most %lld %s, %s", (long long)charge->limit,
                     charge->unit == CHARGE_MS ? "ms" : charge_unit_names[charge->unit],
                     charge_period_names[charge->period]);
        report_judge_step(j, charge->rule, "counts", why);
    }
    if (j->view->limits)
        report_judge_step(j, j->view->limits, "limits", "");
    if (j->view->hooks)
        report_judge_step(j, "hooks", "asks", "a program is run before the call and may refuse it");
}

/* A denial that would hold for the text of commands only, because of their number, is none that can be kept. */
static int check_denials_fit(struct judgement *j)
{
    if (!j->view->denied_many)
        return 0;
    decided_by(j, VERDICT_DENY, "approval.rules");
    err_set(j->err, ERR_POLICY_DENIED,
            "the tool `%.100s` is denied: the programs that approval.rules denies take more than "
            "%u bytes",
            judged_tool_name(j), DENIALS_BYTES_MAX);
    return deny_judged_call(j, "rule_cannot_be_kept");
}

static int judge_policy_call(struct judgement *j)
{
    if (check_enabled(j) < 0 || check_denials_fit(j) < 0)
        return -1;
    facts_init(&j->facts, j->call);
    int r = check_grants(j) < 0 || check_approval_rules(j) < 0 ? -1 : 0;
    if (r == 0)
        check_git(j);
    j->verdict->as_named = j->facts.looked_at_path;
    facts_done(&j->facts);
    if (r < 0)
        return -1;
    size_t before = j->verdict->n_charges;
    charges_add_limits(j->policy, j->view, j->call, j->verdict);
    j->verdict->max_ms = j->call->own_hand ? j->view->own_hand_ms : j->view->max_ms;
    j->verdict->max_memory = j->view->max_memory;
    j->verdict->max_cpu_millis = j->view->max_cpu_millis;
    j->verdict->hooks = j->view->hooks;
    j->verdict->denied = denials_ref(j->view->denied);
    report_limits(j, before);
    return 0;
}

int policy_judge(const struct policy *policy, const struct policy_call *call, struct verdict *ret,
                 policy_step_fn step, void *arg, struct err *err)
{
    struct tool_view *view = view_for(policy, call);
    struct judgement judgement;
    judgement.policy = policy;
    judgement.call = call;
    judgement.view = view;
    judgement.verdict = ret;
    judgement.step = step;
    judgement.step_arg = arg;
    judgement.err = err;
    *ret = (struct verdict){0};
    int r = judge_policy_call(&judgement);
    if (view->passing)
        tool_view_free(view);
    return r;
}
