#include "work/guard_refs.h"

#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "work/git_names.h"
#include "work/git_text.h"

#define READ_BYTES 4096u

static bool is_git_part_name(struct str name)
{
    return str_is(name, "refs") || str_is(name, "logs") || str_is(name, "objects");
}

static bool is_git(const struct tree *t, uint32_t folder)
{
    const struct tree_folder *f = &t->folders[folder];
    return f->kind == GUARDED_GIT || (f->flags & TREE_GIT) == TREE_GIT;
}

/* The git directory whose refs, logs or objects the folder is, or lies in; TREE_NONE: there is none. */
static uint32_t git_around(const struct tree *t, uint32_t folder)
{
    for (uint32_t at = folder; t->folders[at].parent != TREE_NONE; at = t->folders[at].parent) {
        const struct tree_folder *f = &t->folders[at];
        if (is_git_part_name(tree_name(t, f->name, f->name_n)) && is_git(t, f->parent))
            return f->parent;
    }
    return TREE_NONE;
}

/* The beginning is enough to tell a ref or a log from a key. */
static bool has_ref_form(int dir, const char *name, enum git_kind kind, unsigned hex)
{
    char text[READ_BYTES];
    struct str line;
    bool whole;
    FD_AT_END int fd = beneath_open_child_file(dir, name);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text);
    if (n < 0)
        return false;
    struct str all = {text, (size_t)n};
    if (kind == GIT_REF)
        return git_is_ref(all, hex);
    /* A log can be empty. */
    if (!git_next_line(&all, &line, &whole))
        return true;
    return whole && git_is_log((struct str){line.p, line.n + 1}, hex);
}

bool guard_is_ref(const struct reading *r, uint32_t folder, int fd, const char *name,
                  bool is_folder)
{
    static const unsigned lengths[] = {GIT_SHA1_HEX, GIT_SHA256_HEX};
    uint32_t git = git_around(r->tree, folder);
    if (git == TREE_NONE)
        return false;
    size_t n = r->tree->folders[git].path_n;
    n += n > 0;
    struct str inner = {r->path + n, strlen(r->path) - n};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        enum git_kind kind = git_name_of(inner, lengths[i], NULL, NULL).kind;
        if (kind == GIT_OBJECT || kind == GIT_PACK)
            return !is_folder;
        if ((kind == GIT_REF || kind == GIT_LOG) &&
            (is_folder || has_ref_form(fd, name, kind, lengths[i])))
            return true;
    }
    return false;
}

void guard_refs_reread(struct reading *r, uint32_t folder)
{
    struct tree *t = r->tree;
    for (uint32_t at = t->folders[folder].first; at != TREE_NONE; at = t->folders[at].next) {
        struct tree_folder *f = &t->folders[at];
        if (!is_git_part_name(tree_name(t, f->name, f->name_n)) || f->kind == GUARDED_SECRET ||
            f->flags & (TREE_TOO_LONG | TREE_CLOSED))
            continue;
        tree_empty_folder(t, at);
        t->folders[at].flags |= TREE_READ;
        r->changed = true;
    }
}
