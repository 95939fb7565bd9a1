/* What the configuration says of one tool, looked up once. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/call_limits.h"
#include "policy/exec_denied.h"
#include "policy/policy_parts.h"

/* The tool's names, as keys of a map in the configuration. */
struct names {
    const char *all[2];
    size_t n;
};

static struct names names_of(const struct tool *tool, const char *name)
{
    if (!tool)
        return (struct names){{name}, 1};
    return (struct names){{tool->name, tool->alias}, tool->alias ? 2 : 1};
}

/* A switch that is set for one of the names counts before that for all tools. With `?` behind it, it is for the same
 * tool, which could have been missing. */
static void read_enabled(struct tool_view *view, const struct config *config,
                         const struct names *names)
{
    static const char *const marks[] = {"", "?"};
    bool all = config_bool(config, "policy.enabled.*");
    bool other = false;
    for (size_t i = 0; i < 2 * names->n; i++) {
        FREE_AT_END char *path = mem_format("policy.enabled.%s%s", names->all[i / 2], marks[i % 2]);
        if (config_bool(config, path) == all)
            continue;
        other = true;
        if (all && !view->disabled)
            view->disabled = mem_dup(path);
    }
    if (!all && !other)
        view->disabled = mem_format("policy.enabled.%s", names->all[0]);
    view->enabled = mem_format("policy.enabled.%s", names->all[0]);
}

static void read_switch(struct tool_view *view, const struct config *config,
                        const struct tool *tool)
{
    static const char *const switched[] = {"bash", "filesystem", "http", "browser"};
    for (size_t i = 0; i < ARRAY_LEN(switched) && !view->disabled; i++) {
        if (!tool || tool->dialect != DIALECT_SYSTEM || strcmp(tool->name, switched[i]) != 0)
            continue;
        char *path = mem_format("tools.%s.enabled", switched[i]);
        if (config_bool(config, path))
            free(path);
        else
            view->disabled = path;
    }
}

static int64_t tool_number_at(const struct config *config, const char *map, const char *name,
                              const char *field)
{
    FREE_AT_END char *path = mem_format("policy.%s.%s.%s", map, name, field);
    return config_int(config, path);
}

static void add_rate(struct tool_view *view, const struct config *config, const char *name)
{
    int64_t limit = tool_number_at(config, "rateLimits", name, "maxCalls");
    if (limit <= 0)
        return;
    view->rates[view->n_rates++] = (struct rate){
        .name = mem_format("policy.rateLimits.%s", name),
        .key = mem_format("rate:%s", name),
        .limit = limit,
        .window_ms = tool_number_at(config, "rateLimits", name, "windowMs"),
    };
}

/* The limit for all tools is one for each, under its name; another name counts where it has one of its own. */
static void read_rates(struct tool_view *view, const struct config *config,
                       const struct names *names)
{
    add_rate(view, config, names->all[0]);
    if (names->n == 2 && (tool_number_at(config, "rateLimits", names->all[1], "maxCalls") !=
                              tool_number_at(config, "rateLimits", "*", "maxCalls") ||
                          tool_number_at(config, "rateLimits", names->all[1], "windowMs") !=
                              tool_number_at(config, "rateLimits", "*", "windowMs")))
        add_rate(view, config, names->all[1]);
}

static int64_t least(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static void read_limits(struct tool_view *view, const struct config *config,
                        const struct names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->all[i];
        view->max_ms = least(view->max_ms,
                             tool_number_at(config, "resourceLimits", name, "maxDuration"));
        view->max_memory = least(view->max_memory,
                                 tool_number_at(config, "resourceLimits", name, "maxMemory"));
        view->max_cpu_millis = least(view->max_cpu_millis,
                                     tool_number_at(config, "resourceLimits", name, "maxCpu"));
    }
    if (view->max_ms || view->max_memory || view->max_cpu_millis)
        view->limits = mem_format("policy.resourceLimits.%s", names->all[0]);
}

/* Memory is a command's own; calls of other tools share a process. */
static void read_ceilings(struct tool_view *view, const struct config *config,
                          const struct tool *tool)
{
    int64_t ms = call_ceiling_ms(config);
    int64_t memory = tool_runs_programs(tool) ? call_ceiling_memory(config) : 0;
    view->own_hand_ms = view->max_ms;
    view->max_ms = least(view->max_ms, ms);
    view->max_memory = least(view->max_memory, memory);
    if (!view->limits && (ms || memory))
        view->limits = mem_dup("runtime");
}

static void read_tool_budgets(struct tool_view *view, const struct policy *policy,
                              const struct tool *tool)
{
    view->budgets = mem_zero((policy->n_budgets + 1) * sizeof *view->budgets);
    for (size_t i = 0; i < policy->n_budgets; i++) {
        if (tool_pattern_matches(&policy->budgets[i].tool, tool, view->name))
            view->budgets[view->n_budgets++] = (uint32_t)i;
    }
}

struct tool_view *tool_view_new(const struct policy *policy, const struct tool *tool,
                                const char *name)
{
    const struct tool *row = tool ? tool : tool_absent(name);
    struct tool_view *view = mem_zero(sizeof *view);
    struct names names = names_of(row, name);
    view->tool = tool;
    view->name = mem_dup(name);
    read_enabled(view, policy->config, &names);
    read_switch(view, policy->config, row);
    read_rates(view, policy->config, &names);
    read_limits(view, policy->config, &names);
    read_ceilings(view, policy->config, row);
    read_tool_budgets(view, policy, row);
    for (size_t i = 0; i < policy->n_hooks; i++)
        view->hooks |= tool_pattern_matches(&policy->hooks[i].tool, row, name);
    view->denied = exec_denied(policy, tool, &view->denied_many);
    rule_index_init(&view->index, policy->rules, policy->n_rules, row, name);
    return view;
}

void tool_view_free(struct tool_view *view)
{
    if (!view)
        return;
    for (size_t i = 0; i < view->n_rates; i++) {
        free(view->rates[i].name);
        free(view->rates[i].key);
    }
    rule_index_done(&view->index);
    denials_unref(view->denied);
    free(view->budgets);
    free(view->limits);
    free(view->disabled);
    free(view->enabled);
    free(view->name);
    free(view);
}

/* --- charges */

static void add_charge(struct verdict *verdict, struct charge charge)
{
    verdict->charges = mem_grow(verdict->charges, verdict->n_charges + 1, sizeof *verdict->charges);
    verdict->charges[verdict->n_charges++] = charge;
}

void charges_add_rule(const struct rule *rule, struct verdict *verdict)
{
    add_charge(verdict, (struct charge){.key = mem_dup(rule->key),
                                        .rule = rule->name,
                                        .limit = rule->limit,
                                        .period = rule->period,
                                        .unit = CHARGE_CALLS,
                                        .amount = 1});
}

static char *budget_key(const struct budget *budget, const struct policy_call *call)
{
    if (budget->per == BUDGET_AGENT)
        return mem_format("%s:agent:%s", budget->key, call->agent ? call->agent : "");
    if (budget->per == BUDGET_SESSION)
        return mem_format("%s:session:%s", budget->key, call->session ? call->session : "");
    return mem_dup(budget->key);
}

static bool is_about_agent(const struct budget *budget, const char *agent)
{
    if (!budget->agent.text)
        return true;
    return agent && tool_pattern_matches(&budget->agent, NULL, agent);
}

void charges_add_limits(const struct policy *policy, const struct tool_view *view,
                        const struct policy_call *call, struct verdict *verdict)
{
    for (size_t i = 0; i < view->n_rates; i++) {
        const struct rate *rate = &view->rates[i];
        add_charge(verdict,
                   (struct charge){.key = mem_dup(rate->key),
                                   .rule = view->passing ? "policy.rateLimits" : rate->name,
                                   .limit = rate->limit,
                                   .window_ms = rate->window_ms,
                                   .unit = CHARGE_CALLS,
                                   .amount = 1});
    }
    for (size_t i = 0; i < view->n_budgets; i++) {
        const struct budget *budget = &policy->budgets[view->budgets[i]];
        if (!is_about_agent(budget, call->agent))
            continue;
        add_charge(verdict, (struct charge){.key = budget_key(budget, call),
                                            .rule = budget->name,
                                            .limit = budget->limit,
                                            .period = budget->period,
                                            .unit = budget->unit,
                                            .amount = budget->unit == CHARGE_CALLS});
    }
}
