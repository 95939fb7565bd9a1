/* Programs that are started without a shell, held against lists. */
#include "policy/command_rules.h"

#include <stdio.h>
#include <string.h>

#include "core/path.h"

static bool entry_names_path(struct str entry, struct str path)
{
    struct str with = entry.n && memchr(entry.p, '/', entry.n) ? path : path_name_of(path);
    return entry.n && entry.n == with.n && memcmp(entry.p, with.p, entry.n) == 0;
}

bool command_entry_is_program(struct str entry)
{
    for (size_t i = 0; i < entry.n; i++) {
        bool blank = entry.p[i] == ' ' || entry.p[i] == '\t' || entry.p[i] == '\n';
        if ((blank && entry.p[0] != '/') || strchr(COMMAND_NAME_NEVER, entry.p[i]))
            return false;
    }
    return entry.n && entry.p[entry.n - 1] != '/';
}

static const struct str *find_list_entry(const struct str *entries, size_t n, struct str path)
{
    for (size_t i = 0; i < n; i++) {
        if (entry_names_path(entries[i], path))
            return &entries[i];
    }
    return NULL;
}

/* The longest parts of names and paths that a message shows. */
#define SHOWN_MAX 150

static int shown(struct str text)
{
    return (int)(text.n < SHOWN_MAX ? text.n : SHOWN_MAX);
}

static int check_denied_program(struct str called, struct str resolved,
                                const struct command_lists *lists, struct err *err)
{
    const struct str *denied = find_list_entry(lists->denied, lists->n_denied, resolved);
    if (!denied)
        denied = find_list_entry(lists->denied, lists->n_denied, called);
    if (!denied)
        return 0;
    char rule[sizeof err->reason];
    snprintf(rule, sizeof rule, "denied:%.*s", (int)denied->n, denied->p);
    err_set(err, ERR_COMMAND_BLOCKED, "the program is refused by the rule %s", rule);
    return err_reason(err, rule);
}

bool command_names_program(struct str entry, struct str called)
{
    struct str name = path_name_of(entry);
    struct str other = path_name_of(called);
    return name.n && name.n == other.n && memcmp(name.p, other.p, name.n) == 0;
}

int command_check_name(struct str called, const struct command_lists *lists, struct err *err)
{
    if (check_denied_program(called, called, lists, err) < 0)
        return -1;
    if (lists->allow_all)
        return 0;
    for (size_t i = 0; i < lists->n_allowed; i++) {
        if (command_names_program(lists->allowed[i], called))
            return 0;
    }
    err_set(err, ERR_COMMAND_BLOCKED,
            "the program is refused by the rule allowed: the name `%.*s` is not in "
            "tools.bash.allowedCommands",
            shown(path_name_of(called)), path_name_of(called).p);
    return err_reason(err, "allowed");
}

static bool has_command_file(const struct command_lists *lists, struct str path)
{
    for (size_t i = 0; i < lists->n_files; i++) {
        const struct str *file = &lists->files[i];
        if (file->n == path.n && memcmp(file->p, path.p, path.n) == 0)
            return true;
    }
    return false;
}

int command_check_program(struct str called, struct str resolved, const struct command_lists *lists,
                          struct err *err)
{
    if (check_denied_program(called, resolved, lists, err) < 0 ||
        command_check_name(called, lists, err) < 0)
        return -1;
    if (lists->allow_all || has_command_file(lists, resolved))
        return 0;
    err_set(err, ERR_COMMAND_BLOCKED,
            "the program is refused by the rule allowed: `%.*s` leads to the file `%.*s`, which is "
            "not the file that tools.bash.allowedCommands means by that name",
            shown(called), called.p, shown(resolved), resolved.p);
    return err_reason(err, "allowed");
}
