#include "work/guard_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "core/guard_pattern.h"

/* Each is looked for in the whole tree; with more than that, the folders are read instead. */
#define LOOKED_FOR_MAX 64

/* An editor saves by renaming: the new file stands where the known one was, in the same folder. A command cannot do that,
 * since the known one is a mount for it, and moving the folder moves the known one along. */
static bool is_saved_anew(const struct tree *t, uint32_t at, const struct guard_known *file)
{
    return at != TREE_NONE && t->known[at].apart && t->known[at].name == file->name &&
           t->known[at].around == file->around &&
           (t->known[at].type == TYPE_DIRECTORY) == file->is_folder;
}

static bool is_known_git_path(struct str path)
{
    return path.n >= 4 && ascii_lower(path.p[path.n - 3]) == 'g' &&
           ascii_lower(path.p[path.n - 2]) == 'i' && ascii_lower(path.p[path.n - 1]) == 't' &&
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
        return file->is_folder && is_known_git_path(file->path) ? GUARDED_GIT : GUARDED_PROTECTED;
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

/* A later scan than the own one has found it again. */
static bool is_found_again(const struct tree_known *mine, const struct tree_known *theirs)
{
    return mine->path == 0 && theirs->path != 0;
}

bool guard_known_merge(struct tree *t, const struct tree *other, bool carried)
{
    uint32_t count = t->n_known;
    bool any = false;
    struct tree_known *known = mem_grow(NULL, (size_t)count + other->n_known + 1, sizeof *known);
    if (count)
        memcpy(known, t->known, count * sizeof *known);
    for (uint32_t i = 0; i < other->n_known; i++) {
        const struct tree_known *theirs = &other->known[i];
        uint32_t at = tree_find_known(t, theirs);
        if (at != TREE_NONE && !is_found_again(&t->known[at], theirs))
            continue;
        any = true;
        struct tree_known *to = at == TREE_NONE ? &known[count++] : &known[at];
        uint64_t seen = at == TREE_NONE ? TREE_UNSEEN : to->seen;
        *to = *theirs;
        to->carried |= carried;
        to->seen = seen;
        to->replaced = 0;
        to->sought = 0;
    }
    if (any)
        tree_set_known(t, known, count);
    else
        free(known);
    return any;
}

static bool is_guarded(const struct tree *t, const struct tree_known *k)
{
    for (uint32_t i = 0; i < t->n_folders; i++) {
        const struct tree_folder *f = &t->folders[i];
        if (f->flags & TREE_FREE)
            continue;
        if (f->kind != TREE_PLAIN && tree_same_id(&f->id, &k->id))
            return true;
        for (uint32_t m = f->marks; m != TREE_NONE; m = t->marks[m].next) {
            if (t->marks[m].kind != TREE_PLAIN && tree_same_id(&t->marks[m].id, &k->id))
                return true;
        }
    }
    return false;
}

bool guard_known_all_guarded(const struct tree *t)
{
    unsigned looked = 0;
    for (uint32_t i = 0; i < t->n_known; i++) {
        if (t->known[i].seen != TREE_UNSEEN || t->known[i].sought)
            continue;
        if (++looked > LOOKED_FOR_MAX || !is_guarded(t, &t->known[i]))
            return false;
    }
    return true;
}

void guard_known_seek(struct tree *t)
{
    for (uint32_t i = 0; i < t->n_known; i++)
        t->known[i].sought = 1;
    for (uint32_t i = 0; i < t->n_folders; i++) {
        struct tree_folder *f = &t->folders[i];
        if (f->kind != GUARDED_SECRET && !(f->flags & (TREE_FREE | TREE_CLOSED | TREE_TOO_LONG)))
            f->flags |= TREE_READ;
    }
}
