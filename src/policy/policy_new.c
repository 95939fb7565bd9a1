/* A policy out of a configuration. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "core/glob.h"
#include "policy/command_rules.h"
#include "policy/policy_parts.h"
#include "policy/program_options.h"
#include "policy/tool_names.h"

/* A workspace may bring some, and each takes memory. */
#define REGEXES_MAX 256
#define KEY_DIGITS 24
#define MS_PER_SECOND 1000
#define RULES "approval.rules"

/* What a policy is made of. Many rules are about the same tools, mostly one after the other: what the last one meant is
 * kept. */
struct policy_source {
    const struct config *config;
    const struct tool *const *tools; /* all there are */
    struct tool_pattern last;
    const struct tool **meant; /* by it */
    bool checked;              /* that there are such tools */
};

static void policy_source_done(struct policy_source *source)
{
    tool_pattern_done(&source->last);
    free(source->meant);
}

static int index_of(const char *const *words, const char *word)
{
    for (int i = 0; word && words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    return -1;
}

/* A name for what a rule says, so that its counter stays its own when rules are moved. Its limit is no part of it: what
 * was used stays used when that is changed. */
static char *key_of(const char *kind, const char *const *parts, size_t n, const char *period)
{
    struct hash hash;
    char hex[HASH_HEX + 1];
    hash_begin(&hash);
    for (size_t i = 0; i < n; i++) {
        const char *part = parts[i] ? parts[i] : "";
        hash_add(&hash, part, strlen(part) + 1);
    }
    hash_end_hex(&hash, hex);
    return mem_format("%s:%.*s:%s", kind, KEY_DIGITS, hex, period);
}

static int read_pattern_field(struct tool_pattern *ret, const char *name, const char *field,
                              const char *text, struct err *err)
{
    char where[RULE_NAME_MAX + 16];
    snprintf(where, sizeof where, "%s.%s", name, field);
    return tool_pattern_read(ret, text, where, err);
}

static bool is_last(const struct policy_source *source, const char *text)
{
    return source->checked && strcmp(source->last.text, text) == 0;
}

/* The tools that the object `array[i]` is about. */
static int read_tool(struct policy_source *source, const char *array, size_t i, const char *name,
                     struct tool_pattern *ret, struct err *err)
{
    const char *text = config_text_at(source->config, array, i, "toolName");
    char where[RULE_NAME_MAX + 16];
    text = text ? text : "";
    if (is_last(source, text)) {
        *ret = tool_pattern_copy(&source->last);
        return 0;
    }
    snprintf(where, sizeof where, "%s.toolName", name);
    if (tool_pattern_read(ret, text, where, err) < 0)
        return -1;
    bool optional = config_bool_at(source->config, array, i, "optional");
    if (!optional && tool_names_check(source->tools, text, where, err) < 0)
        return -1;
    policy_source_done(source);
    source->checked = !optional;
    source->last = tool_pattern_copy(ret);
    source->meant = tools_meant(ret, source->tools);
    return 0;
}

static int read_rule_condition(struct rule *rule, const char *text, const struct tool *const *meant,
                               struct err *err)
{
    char where[RULE_NAME_MAX + 16];
    const size_t n = strlen(rule->name);
    memcpy(where, rule->name, n);
    memcpy(where + n, ".condition", sizeof ".condition");
    struct condition_place place = {where, meant};
    rule->condition = condition_new((struct str){text, strlen(text)}, &place, err);
    rule->condition_text = text;
    return rule->condition ? 0 : -1;
}

/* A tool that is not known may run commands. */
static bool some_run_commands(const struct tool *const *meant)
{
    for (size_t i = 0; meant && meant[i]; i++) {
        if (meant[i]->capabilities & CAP_COMMAND)
            return true;
    }
    return !meant || !meant[0];
}

/* Only `git` is known, which the table of settings sees to. */
static int read_rule_grants(struct rule *rule, const struct policy_source *source, size_t i,
                            struct err *err)
{
    const struct str *items;
    size_t count;
    bool given = config_list_at(source->config, RULES, i, "grants", &items, &count);
    rule->git = given && count > 0;
    if (given && count == 0)
        return err_field(err, rule->name, "%s.grants: an empty list grants nothing: leave it out",
                         rule->name);
    if (!rule->git || (rule->action == RULE_APPROVE && some_run_commands(source->meant)))
        return 0;
    char path[RULE_NAME_MAX + 16];
    snprintf(path, sizeof path, "%s.grants", rule->name);
    if (rule->action == RULE_APPROVE)
        return err_field(err, path, "%s: `%.100s` runs no commands: leave it out", path,
                         rule->tool.text);
    return err_field(err, path, "%s: only a rule with the action `approve` can grant something",
                     path);
}

/* What only a rule with the action `budget` counts by. */
static int refuse_budget_fields(const struct rule *rule, const struct config *config, size_t i,
                                struct err *err)
{
    static const char *const fields[] = {"budgetLimit", "budgetPeriod"};
    for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
        char path[RULE_NAME_MAX + 16];
        if (!config_is_set_at(config, RULES, i, fields[k]))
            continue;
        snprintf(path, sizeof path, "%s.%s", rule->name, fields[k]);
        return err_field(err, path,
                         "%s: counts only with \"action\": \"budget\": write that, or leave it out",
                         path);
    }
    return 0;
}

/* What a rule with the action `budget` counts, and how far. */
static int read_rule_budget(struct rule *rule, const struct config *config, size_t i,
                            const char *condition, struct err *err)
{
    const char *period = config_text_at(config, RULES, i, "budgetPeriod");
    int when = index_of(charge_period_names, period);
    if (when < 0)
        return err_field(err, rule->name, "%s: its period is not known", rule->name);
    rule->period = (enum charge_period)when;
    rule->limit = config_int_at(config, RULES, i, "budgetLimit");
    rule->key = key_of("rule", (const char *const[]){rule->tool.text, condition}, 2, period);
    return 0;
}

static int read_policy_rule(struct rule *rule, struct policy_source *source, size_t i,
                            struct err *err)
{
    static const char *const actions[] = {"approve", "deny", "prompt", "budget", NULL};
    const struct config *config = source->config;
    const char *condition = config_text_at(config, RULES, i, "condition");
    config_name_at(config, RULES, i, rule->name, sizeof rule->name);
    if (read_tool(source, RULES, i, rule->name, &rule->tool, err) < 0)
        return -1;
    int action = index_of(actions, config_text_at(config, RULES, i, "action"));
    if (action < 0)
        return err_field(err, rule->name, "%s: its action is not known", rule->name);
    rule->action = (enum rule_action)action;
    if (read_rule_grants(rule, source, i, err) < 0 ||
        (rule->action != RULE_BUDGET && refuse_budget_fields(rule, config, i, err) < 0))
        return -1;
    if (rule->action == RULE_BUDGET && read_rule_budget(rule, config, i, condition, err) < 0)
        return -1;
    return condition ? read_rule_condition(rule, condition, source->meant, err) : 0;
}

static int read_policy_rules(struct policy *policy, struct policy_source *source, struct err *err)
{
    size_t n = config_count(policy->config, RULES);
    size_t regexes = 0;
    policy->rules = mem_zero((n + 1) * sizeof *policy->rules);
    for (size_t i = 0; i < n; i++) {
        struct rule *rule = &policy->rules[policy->n_rules++];
        if (read_policy_rule(rule, source, i, err) < 0)
            return -1;
        regexes += rule->condition ? rule->condition->n_regexes : 0;
        if (regexes > REGEXES_MAX)
            return err_field(err, rule->name, "%s: the rules have more than %d regular expressions",
                             rule->name, REGEXES_MAX);
    }
    return 0;
}

static int read_budget(struct budget *budget, struct policy_source *source, size_t i,
                       struct err *err)
{
    static const char array[] = "policy.budgets";
    static const char *const pers[] = {"all", "agent", "session", NULL};
    const struct config *config = source->config;
    const char *agent = config_text_at(config, array, i, "agent");
    const char *unit = config_text_at(config, array, i, "unit");
    const char *period = config_text_at(config, array, i, "period");
    const char *per = config_text_at(config, array, i, "per");
    config_name_at(config, array, i, budget->name, sizeof budget->name);
    if (read_tool(source, array, i, budget->name, &budget->tool, err) < 0 ||
        (agent && read_pattern_field(&budget->agent, budget->name, "agent", agent, err) < 0))
        return -1;
    int units = index_of(charge_unit_names, unit);
    int when = index_of(charge_period_names, period);
    int who = index_of(pers, per);
    if (units < 0 || when < 0 || who < 0)
        return err_field(err, budget->name, "%s: its unit, period or per is not known",
                         budget->name);
    budget->unit = (enum charge_unit)units;
    /* Tools that reach out are there, so a limit that nothing counts would be a promise. */
    if (budget->unit == CHARGE_NETWORK_BYTES)
        return err_field(err, budget->name,
                         "%s.unit: `networkBytes` is not counted by this version: use calls or seconds",
                         budget->name);
    budget->period = (enum charge_period)when;
    budget->per = (enum budget_per)who;
    budget->limit = config_int_at(config, array, i, "limit");
    if (budget->unit == CHARGE_MS &&
        __builtin_mul_overflow(budget->limit, MS_PER_SECOND, &budget->limit))
        budget->limit = INT64_MAX;
    budget->key = key_of("budget", (const char *const[]){budget->tool.text, agent, per, unit}, 4,
                         period);
    return 0;
}

static int by_key(const void *left, const void *right)
{
    const struct budget *a = *(struct budget *const *)left;
    const struct budget *b = *(struct budget *const *)right;
    int order = strcmp(a->key, b->key);
    return order ? order : (a > b) - (a < b);
}

/* Two that differ only in their limit are still two: one counter must not be charged twice for a call. */
static void tell_apart(struct policy *policy)
{
    size_t n = policy->n_budgets;
    struct budget **sorted = mem_zero((n + 1) * sizeof(struct budget *));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &policy->budgets[i];
    if (n)
        qsort(sorted, n, sizeof(struct budget *), by_key);
    for (size_t i = 0, same = 1; i < n; i += same, same = 1) {
        while (i + same < n && strcmp(sorted[i]->key, sorted[i + same]->key) == 0)
            same++;
        for (size_t k = 1; k < same; k++) {
            char *key = mem_format("%s:%zu", sorted[i]->key, k + 1);
            free(sorted[i + k]->key);
            sorted[i + k]->key = key;
        }
    }
    free(sorted);
}

static int read_policy_budgets(struct policy *policy, struct policy_source *source, struct err *err)
{
    size_t n = config_count(policy->config, "policy.budgets");
    policy->budgets = mem_zero((n + 1) * sizeof *policy->budgets);
    for (size_t i = 0; i < n; i++) {
        if (read_budget(&policy->budgets[policy->n_budgets++], source, i, err) < 0)
            return -1;
    }
    tell_apart(policy);
    return 0;
}

static int read_hooks(struct policy *policy, struct policy_source *source, struct err *err)
{
    size_t n = config_count(policy->config, "hooks");
    policy->hooks = mem_zero((n + 1) * sizeof *policy->hooks);
    for (size_t i = 0; i < n; i++) {
        struct hook_rule *hook = &policy->hooks[policy->n_hooks];
        const char *event = config_text_at(policy->config, "hooks", i, "event");
        snprintf(hook->name, sizeof hook->name, "hooks[%zu]", i);
        if (read_tool(source, "hooks", i, hook->name, &hook->tool, err) < 0) {
            tool_pattern_done(&hook->tool);
            return -1;
        }
        if (event && strcmp(event, "tool:before") == 0)
            policy->n_hooks++;
        else
            tool_pattern_done(&hook->tool);
    }
    return 0;
}

struct checked {
    const struct config *config;
    struct err *err;
};

/* They are read again when a call of theirs comes; what is wrong with them is told at the start. */
static int check_agent(void *arg, const char *agent)
{
    struct checked *checked = arg;
    if (strcmp(agent, "*") != 0 && glob_is_pattern((struct str){agent, strlen(agent)})) {
        FREE_AT_END char *field = mem_format("agents.%.100s", agent);
        return err_field(checked->err, field,
                         "%s: agents are found by their whole name here, and `*` is for all: write "
                         "each name",
                         field);
    }
    struct grants *grants = grants_new(checked->config, agent, checked->err);
    grants_free(grants);
    return grants ? 0 : -1;
}

static int check_agents(const struct policy *policy, struct err *err)
{
    struct checked checked = {policy->config, err};
    return config_keys(policy->config, "agents", check_agent, &checked);
}

/* An entry with options or patterns in it would deny or allow nothing. */
static int check_programs(const struct config *config, const char *key, struct err *err)
{
    const struct str *items;
    size_t n;
    if (!config_list(config, key, &items, &n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (command_entry_is_program(items[i]))
            continue;
        FREE_AT_END char *entry = mem_format("%s[%zu]", key, i);
        return err_field(err, entry,
                         "%s: `%.60s` is no program: write its name (\"rm\") or whole path, "
                         "without options and patterns; for some uses of a program write a rule "
                         "with {\"command\": {\"program\": \"git push\"}}",
                         entry, items[i].p);
    }
    return 0;
}

static int check_program_lists(const struct config *config, struct err *err)
{
    if (check_programs(config, "tools.bash.allowedCommands", err) < 0)
        return -1;
    return check_programs(config, "tools.bash.deniedCommands", err);
}

/* Whether every call that this pattern means is meant by the other one. */
static bool is_within(const struct tool_pattern *pattern, const struct tool_pattern *other)
{
    return other->all || strcmp(pattern->text, other->text) == 0 ||
           (!pattern->glob && tool_pattern_matches(other, NULL, pattern->text));
}

/* Whether the later of two rules about the same calls decides nothing. What an approval leaves is what it holds for only
 * in part. */
static bool hides_rule(const struct rule *earlier, const struct rule *later)
{
    if (!is_within(&later->tool, &earlier->tool))
        return false;
    if (!earlier->condition)
        return true;
    return later->condition && strcmp(earlier->condition_text, later->condition_text) == 0 &&
           (earlier->action != RULE_APPROVE || later->action == RULE_APPROVE);
}

void policy_each_unreached(const struct policy *policy, policy_unreached_fn each, void *arg)
{
    for (size_t i = 1; i < policy->n_rules; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!hides_rule(&policy->rules[k], &policy->rules[i]))
                continue;
            each(arg, policy->rules[i].name, policy->rules[k].name);
            break;
        }
    }
}

static void each_unknown_in(const struct node *node, const char *rule, policy_unknown_fn each,
                            void *arg)
{
    const struct test *test = node->kind == NODE_TEST ? node->test : NULL;
    for (size_t i = 0; test && test->kind == TEST_PROGRAM && i < test->n_programs; i++) {
        const struct program_rule *p = &test->programs[i];
        if (p->subcommand[0] && program_lacks((struct str){p->name, strlen(p->name)},
                                              (struct str){p->subcommand, strlen(p->subcommand)}))
            each(arg, rule, p->name, p->subcommand);
    }
    for (size_t i = 0; i < node->n_parts; i++)
        each_unknown_in(&node->parts[i], rule, each, arg);
}

void policy_each_unknown(const struct policy *policy, policy_unknown_fn each, void *arg)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        if (policy->rules[i].condition)
            each_unknown_in(&policy->rules[i].condition->root, policy->rules[i].name, each, arg);
    }
}

static int read_fallback(const struct config *config, const char *path)
{
    static const char *const actions[] = {"approve", "deny", "prompt", NULL};
    return index_of(actions, config_text(config, path));
}

int policy_new(struct policy **ret_policy, const struct config *config, struct err *err)
{
    struct policy *policy = mem_zero(sizeof *policy);
    const struct tool **tools = tool_list();
    policy->config = config_clone(config);
    policy->memo = mem_zero(sizeof *policy->memo);
    policy->fallback = read_fallback(config, "approval.default");
    policy->in_overlay = read_fallback(config, "approval.inOverlay");
    policy->in_overlay_own = config_is_set(config, "approval.inOverlay");
    policy->memo->nameless = grants_new(policy->config, NULL, err);
    struct policy_source source = {.config = policy->config, .tools = tools};
    int r = policy->memo->nameless && check_agents(policy, err) == 0 &&
                    check_program_lists(policy->config, err) == 0 &&
                    tool_names_check_maps(tools, policy->config, err) == 0 &&
                    read_policy_rules(policy, &source, err) == 0 &&
                    read_policy_budgets(policy, &source, err) == 0 &&
                    read_hooks(policy, &source, err) == 0
                ? 0
                : -1;
    policy_source_done(&source);
    free(tools);
    if (r == 0)
        *ret_policy = policy;
    else
        policy_free(policy);
    return r;
}

static void memo_free(struct policy_memo *memo)
{
    for (size_t i = 0; i < VIEWS_MAX; i++)
        tool_view_free(memo->views[i]);
    for (size_t i = 0; i < GRANTS_MAX; i++)
        grants_free(memo->agents[i]);
    grants_free(memo->nameless);
    free(memo);
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    memo_free(policy->memo);
    for (size_t i = 0; i < policy->n_rules; i++) {
        struct rule *rule = &policy->rules[i];
        tool_pattern_done(&rule->tool);
        condition_free(rule->condition);
        free(rule->key);
    }
    for (size_t i = 0; i < policy->n_budgets; i++) {
        tool_pattern_done(&policy->budgets[i].tool);
        tool_pattern_done(&policy->budgets[i].agent);
        free(policy->budgets[i].key);
    }
    for (size_t i = 0; i < policy->n_hooks; i++)
        tool_pattern_done(&policy->hooks[i].tool);
    free(policy->rules);
    free(policy->budgets);
    free(policy->hooks);
    config_free(policy->config);
    free(policy);
}
