/* Programs that are started without a shell, held against lists. */
#include "policy/command_rules.h"

#include <stdio.h>
#include <string.h>

static struct str name_of(struct str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    if (!slash)
        return path;
    return (struct str){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}

static bool names(struct str entry, struct str path)
{
    struct str with = entry.n && memchr(entry.p, '/', entry.n) ? path : name_of(path);
    return entry.n && entry.n == with.n && memcmp(entry.p, with.p, entry.n) == 0;
}

static const struct str *find_entry(const struct str *entries, size_t n, struct str path)
{
    for (size_t i = 0; i < n; i++) {
        if (names(entries[i], path))
            return &entries[i];
    }
    return NULL;
}

int command_check_program(struct str found, struct str resolved, const struct command_lists *lists,
                          struct err *err)
{
    const struct str *denied = find_entry(lists->denied, lists->n_denied, resolved);
    if (!denied)
        denied = find_entry(lists->denied, lists->n_denied, found);
    if (denied) {
        char rule[sizeof err->reason];
        snprintf(rule, sizeof rule, "denied:%.*s", (int)denied->n, denied->p);
        err_set(err, ERR_COMMAND_BLOCKED, "the program is refused by the rule %s", rule);
        return err_reason(err, rule);
    }
    if (lists->allow_all || find_entry(lists->allowed, lists->n_allowed, resolved))
        return 0;
    struct str name = name_of(resolved);
    err_set(err, ERR_COMMAND_BLOCKED,
            "the program is refused by the rule allowed: `%.*s` is not among the allowed ones",
            (int)name.n, name.p);
    return err_reason(err, "allowed");
}
