/* Which tools a caller is told of. */
#include "base/mem.h"
#include "core/registry.h"
#include "policy/policy_parts.h"

static bool grants_nothing(const struct grant_list *list)
{
    return list->limited && list->n == 0;
}

/* Whether some call of the tool could stay within what is granted. What a tool needs may depend on the call: one of its
 * needs is enough then. */
static bool may_be_granted(const struct grants *grants, const struct config *config,
                           const struct tool *tool)
{
    unsigned missing = 0;
    if (grants_nothing(&grants->read))
        missing |= CAP_FS_READ;
    if (grants_nothing(&grants->write))
        missing |= CAP_FS_WRITE;
    if (!grants->command)
        missing |= CAP_COMMAND;
    if (!grants->model)
        missing |= CAP_MODEL;
    if (!grants_some_domain(grants, config, tool))
        missing |= CAP_NETWORK;
    missing &= tool->capabilities;
    return tool->needs ? missing != tool->capabilities || missing == 0 : missing == 0;
}

static bool is_switched_on(const struct policy *policy, const struct tool *tool)
{
    struct tool_view *view = tool_view_new(policy, tool, tool->name);
    bool on = !view->disabled;
    tool_view_free(view);
    return on;
}

const struct tool **policy_offered(const struct policy *policy, enum dialect_id dialect,
                                   const char *agent)
{
    const struct tool **offered = mem_zero(sizeof *offered);
    struct err ignored; /* where grants cannot be read, every call is denied */
    struct grants *grants = grants_new(policy->config, agent, &ignored);
    size_t n = 0;
    for (const struct tool *t = NULL; grants && (t = registry_next(dialect, t));) {
        if (!is_switched_on(policy, t) || !may_be_granted(grants, policy->config, t))
            continue;
        offered = mem_grow(offered, n + 2, sizeof *offered);
        offered[n++] = t;
        offered[n] = NULL;
    }
    grants_free(grants);
    return offered;
}
