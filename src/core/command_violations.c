/* What the sandbox refused a command, or found when it had ended. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/command.h"

#define VIOLATIONS_MORE "; more violations: see the audit record"

/* The gravest first. */
const char *const command_violation_kinds[COMMAND_VIOLATION_KINDS + 1] = {
    "cut_off",     "git:replaced",      "scan:failed",
    "scan:unsure", "quarantine:full",   "quarantined:",
    "repository:", "git:dropped",       "unjudged:",
    "replaced:",   "unchecked:",        "created:",
    "opened:",     "git:changed:",      "git:unread:",
    "git:kept",    "sockets:uncounted", "",
};

static unsigned rank_of(const char *what)
{
    unsigned i = 0;
    while (strncmp(what, command_violation_kinds[i], strlen(command_violation_kinds[i])) != 0)
        i++;
    return i;
}

bool command_violations_have(const struct command_violations *all, const char *what)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].what, what) == 0)
            return true;
    }
    return false;
}

/* Where one of this rank stands: behind all that are as grave. */
static size_t place_of_rank(const struct command_violations *all, unsigned rank)
{
    size_t at = all->count;
    while (at > 0 && all->list[at - 1].rank > rank)
        at--;
    return at;
}

/* False: it is not grave enough, and was counted. */
static bool make_room_for_violation(struct command_violations *all, unsigned rank, int64_t count)
{
    if (all->count < COMMAND_VIOLATIONS_MAX) {
        if ((all->count & (all->count - 1)) == 0)
            all->list = mem_grow(all->list, all->count ? 2 * all->count : 1, sizeof *all->list);
        return true;
    }
    const struct command_violation *last = &all->list[all->count - 1];
    if (last->rank <= rank) {
        all->more[rank] += count;
        return false;
    }
    all->more[last->rank] += last->count;
    all->count--;
    return true;
}

void command_add_violation(struct command *command, const char *kind, struct str path,
                           int64_t count)
{
    static const char more[] = "…";
    struct command_violations *all = &command->violations;
    struct command_violation new = {.count = count};
    size_t room = sizeof new.what - 1 - strlen(kind);
    bool fits = path.n <= room;
    size_t n = fits ? path.n : utf8_cut(path.p, room - sizeof more + 1);
    snprintf(new.what, sizeof new.what, "%s%.*s%s", kind, (int)n, path.p, fits ? "" : more);
    new.rank = (uint8_t)rank_of(new.what);
    if (command_violations_have(all, new.what) || !make_room_for_violation(all, new.rank, count))
        return;
    size_t at = place_of_rank(all, new.rank);
    memmove(&all->list[at + 1], &all->list[at], (all->count - at) * sizeof new);
    all->list[at] = new;
    all->count++;
}

void command_forget_violations(struct command *command, const char *kind)
{
    struct command_violations *all = &command->violations;
    unsigned rank = rank_of(kind);
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->list[i].rank != rank)
            all->list[kept++] = all->list[i];
    }
    all->count = kept;
    all->more[rank] = 0;
}

int64_t command_violations_unshown(const struct command *command)
{
    const struct command_violations *all = &command->violations;
    int64_t count = 0;
    for (size_t i = COMMAND_VIOLATIONS_SHOWN; i < all->count; i++)
        count += all->list[i].count;
    for (size_t i = 0; i < COMMAND_VIOLATION_KINDS; i++)
        count += all->more[i];
    return count;
}

void command_tell_violations(const struct command *command, char *message, size_t size)
{
    const struct command_violations *all = &command->violations;
    size_t n = strlen(message);
    size_t told = 0;
    for (; told < all->count; told++) {
        const char *before = told ? ", " : "; violations: ";
        const char *what = all->list[told].what;
        if (n + strlen(before) + strlen(what) + sizeof VIOLATIONS_MORE > size)
            break;
        n += (size_t)snprintf(message + n, size - n, "%s%s", before, what);
    }
    if (told < all->count || command_violations_unshown(command))
        snprintf(message + n, size - n, VIOLATIONS_MORE);
}
