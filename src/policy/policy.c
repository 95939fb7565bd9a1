#include "policy/policy.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static int check_enabled(const struct call *call, const char *name, struct err *err)
{
    char path[96];
    snprintf(path, sizeof path, "policy.enabled.%s", name);
    if (config_bool(call->workplace->config, path))
        return 0;
    err_set(err, ERR_POLICY_DENIED, "the tool `%s` is switched off by the rule %s",
            call->tool->name, path);
    return err_reason(err, "tool_disabled");
}

static int denied(struct err *err, const char *reason, const char *tool, const char *rule,
                  const char *why)
{
    err_set(err, ERR_POLICY_DENIED, "the tool `%s` is denied by the rule %s%s", tool, rule, why);
    return err_reason(err, reason);
}

static bool names_tool(const char *pattern, const struct tool *tool)
{
    return fnmatch(pattern, tool->name, 0) == 0 ||
           (tool->alias && fnmatch(pattern, tool->alias, 0) == 0);
}

/* What an approval rule's action means while nobody can be asked and nothing is counted: a rule that
 * cannot be kept denies. */
static int apply_action(const char *action, const char *tool, const char *rule, struct err *err)
{
    if (strcmp(action, "approve") == 0)
        return 0;
    if (strcmp(action, "deny") == 0)
        return denied(err, "denied_by_rule", tool, rule, "");
    return denied(err, "rule_cannot_be_kept", tool, rule,
                  ", whose action needs approvals or budgets, which are not available yet");
}

static int check_approval(const struct call *call, struct err *err)
{
    const struct config *config = call->workplace->config;
    char path[64];
    for (unsigned i = 0;; i++) {
        snprintf(path, sizeof path, "approval.rules[%u].toolName", i);
        const char *pattern = config_text(config, path);
        if (!pattern)
            break;
        if (!names_tool(pattern, call->tool))
            continue;
        snprintf(path, sizeof path, "approval.rules[%u].condition", i);
        if (config_text(config, path))
            return denied(err, "rule_cannot_be_kept", call->tool->name, path,
                          ": conditions are not available yet");
        snprintf(path, sizeof path, "approval.rules[%u].action", i);
        return apply_action(config_text(config, path), call->tool->name, path, err);
    }
    const char *otherwise = config_text(config, "approval.default");
    return otherwise ? apply_action(otherwise, call->tool->name, "approval.default", err) : 0;
}

static int check_limits(const struct call *call, const char *name, struct err *err)
{
    static const char *const limits[][2] = {{"rateLimits", "maxCalls"},
                                            {"resourceLimits", "maxDuration"},
                                            {"resourceLimits", "maxMemory"},
                                            {"resourceLimits", "maxCpu"}};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        char path[128];
        snprintf(path, sizeof path, "policy.%s.%s.%s", limits[i][0], name, limits[i][1]);
        if (config_int(call->workplace->config, path) != 0)
            return denied(err, "rule_cannot_be_kept", call->tool->name, path,
                          ": such limits are not counted yet");
    }
    return 0;
}

static int check_named(const struct call *call, const char *name, struct err *err)
{
    return check_enabled(call, name, err) < 0 || check_limits(call, name, err) < 0 ? -1 : 0;
}

/* The rules look at the tool only, so a yes holds until the configuration changes. */
struct yes {
    const struct tool *tool;
    uint64_t edition;
};

static struct yes *remembered(const struct tool *tool)
{
    static struct yes all[64];
    return &all[(uintptr_t)tool / sizeof(struct tool) % ARRAY_LEN(all)];
}

static int check(void *self, struct call *call, struct err *err)
{
    (void)self;
    const struct tool *tool = call->tool;
    struct yes *yes = remembered(tool);
    uint64_t edition = config_edition(call->workplace->config);
    if (yes->tool == tool && yes->edition == edition)
        return 0;
    if (check_named(call, tool->name, err) < 0 ||
        (tool->alias && check_named(call, tool->alias, err) < 0))
        return -1;
    if (check_approval(call, err) < 0)
        return -1;
    *yes = (struct yes){tool, edition};
    return 0;
}

struct policy_hook policy_hook(void)
{
    return (struct policy_hook){.judge = check};
}
