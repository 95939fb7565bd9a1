#include "policy/policy.h"

#include <stdio.h>

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

static int check(void *self, const struct call *call, struct err *err)
{
    (void)self;
    if (check_enabled(call, call->tool->name, err) < 0)
        return -1;
    return call->tool->alias ? check_enabled(call, call->tool->alias, err) : 0;
}

struct policy_hook policy_hook(void)
{
    return (struct policy_hook){check, NULL};
}
