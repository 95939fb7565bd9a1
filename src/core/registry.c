#include "core/registry.h"

#include <stdio.h>

static const struct tool *const *all;
static const struct tool *const *more;

void registry_use(const struct tool *const *tools)
{
    all = tools;
}

void registry_use_more(const struct tool *const *tools)
{
    more = tools;
}

const struct tool *registry_next(enum dialect_id dialect, const struct tool *after)
{
    const struct tool *const *const lists[] = {all, more};
    bool passed = after == NULL;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; lists[l] && lists[l][i]; i++) {
            if (passed && lists[l][i]->dialect == dialect)
                return lists[l][i];
            passed |= lists[l][i] == after;
        }
    }
    return NULL;
}

const struct tool *registry_find(enum dialect_id dialect, struct str name, struct err *err)
{
    char known[300] = "";
    size_t used = 0;
    for (const struct tool *t = NULL; (t = registry_next(dialect, t));) {
        if (str_is(name, t->name) || (t->alias && str_is(name, t->alias)))
            return t;
        int n = snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", t->name);
        if (n > 0 && used + (size_t)n < sizeof known)
            used += (size_t)n;
    }
    err_set(err, ERR_UNKNOWN_TOOL, "there is no tool `%.*s` here; available: %s",
            (int)(name.n > 60 ? 60 : name.n), name.p ? name.p : "", used ? known : "none");
    return NULL;
}
