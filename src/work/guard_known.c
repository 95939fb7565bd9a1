#include "work/guard_known.h"

#include "base/mem.h"
#include "core/guard_pattern.h"

/* An editor saves by renaming: the new file stands where the known one was, in the same folder. A command cannot do that,
 * since the known one is a mount for it, and moving the folder moves the known one along. */
static bool is_saved_anew(const struct tree *t, uint32_t at, const struct guard_known *file)
{
    return at != TREE_NONE && t->known[at].apart && t->known[at].name == file->name &&
           t->known[at].around == file->around &&
           (t->known[at].type == TYPE_DIRECTORY) == file->is_folder;
}

static bool is_git_name(struct str path)
{
    return path.n >= 4 && guard_small(path.p[path.n - 3]) == 'g' &&
           guard_small(path.p[path.n - 2]) == 'i' && guard_small(path.p[path.n - 1]) == 't' &&
           path.p[path.n - 4] == '.' && (path.n == 4 || path.p[path.n - 5] == '/');
}

/* By the rules that hold now, without the exceptions for the folder where it is. */
static uint8_t kind_elsewhere(const struct guard *guard, const struct guard_known *file)
{
    const char *rule;
    switch (guard_judge_elsewhere(guard, file->path, file->is_folder, &rule)) {
    case GUARD_SECRET:
        return GUARDED_SECRET;
    case GUARD_PROTECTED:
        return file->is_folder && is_git_name(file->path) ? GUARDED_GIT : GUARDED_PROTECTED;
    default:
        return TREE_PLAIN;
    }
}

uint8_t guard_known_kind(const struct tree *t, const struct guard *guard,
                         const struct guard_known *file)
{
    uint64_t path = tree_hash(t, file->path);
    uint32_t at = tree_find_id(t, file->name, &file->id);
    if (at == TREE_NONE) {
        at = tree_find_path(t, path);
        return is_saved_anew(t, at, file) ? kind_elsewhere(guard, file) : TREE_PLAIN;
    }
    const struct tree_known *known = &t->known[at];
    if (known->led)
        return TREE_PLAIN;
    if (!known->carried)
        return known->kind;
    /* Where a rule of before named it, the rules of now decide. */
    return !known->apart && known->path == path ? TREE_PLAIN : kind_elsewhere(guard, file);
}

void guard_known_carry(struct tree *t, struct tree *from)
{
    uint32_t count = from->n_known;
    struct tree_known *known = TAKE_PTR(from->known);
    from->n_known = 0;
    for (uint32_t i = 0; i < count; i++)
        known[i].carried = 1;
    t->seed = from->seed;
    tree_set_known(t, known, count);
}
