#include "core/call_limits.h"

#include <stdio.h>

#define ONE_CORE 1000
#define CEILING_TIME "runtime.timeoutSecs"
#define CEILING_MEMORY "runtime.memoryMb"

static void name_rule(const char *tool, const char *limit, char out[CALL_RULE_MAX])
{
    snprintf(out, CALL_RULE_MAX, "policy.resourceLimits.%.100s.%s", tool, limit);
}

static int64_t ceiling(const struct config *config, const char *path, int64_t unit)
{
    return config_is_set(config, path) ? config_int(config, path) * unit : 0;
}

int64_t call_ceiling_ms(const struct config *config)
{
    return ceiling(config, CEILING_TIME, 1000);
}

int64_t call_ceiling_memory(const struct config *config)
{
    return ceiling(config, CEILING_MEMORY, 1 << 20);
}

static void use_ceiling(const struct config *config, const char *limit, int64_t least,
                        char out[CALL_RULE_MAX])
{
    bool time = strcmp(limit, "maxDuration") == 0;
    int64_t most = time                              ? call_ceiling_ms(config)
                   : strcmp(limit, "maxMemory") == 0 ? call_ceiling_memory(config)
                                                     : 0;
    if (call_limit_lower(least, most) != least)
        snprintf(out, CALL_RULE_MAX, "%s", time ? CEILING_TIME : CEILING_MEMORY);
}

void call_limit_rule(const struct call *call, const char *limit, char out[CALL_RULE_MAX])
{
    const struct tool *tool = call->tool;
    const struct config *config = call->workplace->config;
    char other[CALL_RULE_MAX];
    name_rule(tool->name, limit, out);
    if (!config)
        return;
    int64_t least = config_int(config, out);
    if (tool->alias) {
        name_rule(tool->alias, limit, other);
        int64_t by_alias = config_int(config, other);
        if (call_limit_lower(least, by_alias) != least)
            name_rule(tool->alias, limit, out);
        least = call_limit_lower(least, by_alias);
    }
    use_ceiling(config, limit, least, out);
}

int call_limit_denied(const struct call *call, const char *limit, const char *why, struct err *err)
{
    char rule[CALL_RULE_MAX];
    call_limit_rule(call, limit, rule);
    err_set(err, ERR_POLICY_DENIED,
            "the tool `%s` is denied by the rule %s, which cannot be kept: %s", call->tool->name,
            rule, why);
    return err_reason(err, "rule_cannot_be_kept");
}

int call_limits_check(const struct call *call, struct err *err)
{
    const struct verdict *v = &call->verdict;
    if (tool_runs_programs(call->tool))
        return 0;
    if (v->max_memory > 0)
        return call_limit_denied(call, "maxMemory",
                                 "calls of this tool share a process. Limit tools that run "
                                 "commands, or switch this one off",
                                 err);
    if (v->max_cpu_millis > 0 && v->max_cpu_millis < ONE_CORE)
        return call_limit_denied(call, "maxCpu",
                                 "calls of this tool share a process, in which one has a core or "
                                 "more. Set it to 1 or above, or switch the tool off",
                                 err);
    return 0;
}
