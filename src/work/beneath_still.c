/* A place is judged when a call begins, and used later: when all is written, or another call has let go of the folder. A
 * command can rename folders meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "core/guard_pattern.h"
#include "work/beneath_walk.h"
#include "work/guard_read.h"
#include "work/guard_trees.h"
#include "work/work.h"

/* Where the look has come to. */
struct looking {
    struct beneath_look *look;
    struct str whole;
    struct str name; /* of the next entry, in `at` */
    int at;
    uint64_t inode; /* of `at`, where identities are asked for */
    bool leads;
};

/* By what it is, whatever it is called. */
static bool is_guarded_entry(struct looking *l, const struct statx *st)
{
    const struct beneath_root *root = l->look->root;
    struct tree_id id = folder_id(st);
    if (l->leads && guard_trees_is_lead(root, &id))
        return true;
    struct str path = {l->whole.p, (size_t)(l->name.p + l->name.n - l->whole.p)};
    l->look->was_known = l->look->known &&
                         guard_trees_knows_entry(root, path, l->name, st, l->inode);
    return l->look->was_known;
}

static enum beneath_found not_opened(struct beneath_look *look, int error)
{
    if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV)
        return look->dir < 0 && look->file < 0 ? BENEATH_FREE : BENEATH_MOVED;
    look->error = err_is_shortage(error) ? error : 0;
    return BENEATH_GUARDED;
}

static int open_still_name(const struct looking *l, int flags)
{
    char name[PATH_NAME_MAX + 1];
    if (l->name.n >= sizeof name) {
        errno = ENOENT;
        return -1;
    }
    memcpy(name, l->name.p, l->name.n);
    name[l->name.n] = '\0';
    return beneath_open_at(l->at, name, O_PATH | O_NOFOLLOW | flags, 0, RESOLVE_NO_SYMLINKS);
}

/* Into the next folder; `own` is its descriptor then. */
static enum beneath_found enter_still_folder(struct looking *l, int *own)
{
    struct statx st;
    FD_AT_END int fd = open_still_name(l, O_DIRECTORY);
    if (fd < 0)
        return not_opened(l->look, errno);
    if (l->leads || l->look->known) {
        int r = folder_stat(fd, "", &st);
        if (r < 0)
            return not_opened(l->look, -r);
        if (is_guarded_entry(l, &st))
            return BENEATH_GUARDED;
        l->inode = st.stx_ino;
    }
    fd_closep(own);
    l->at = *own = TAKE_FD(fd);
    return BENEATH_FREE;
}

static enum beneath_found look_at_last(struct looking *l)
{
    struct statx st;
    if (!l->leads && !l->look->known && !l->look->carries)
        return BENEATH_FREE;
    FD_AT_END int fd = open_still_name(l, 0);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return l->look->file < 0 ? BENEATH_FREE : BENEATH_MOVED;
    if (fd < 0)
        return not_opened(l->look, errno);
    int r = folder_stat(fd, "", &st);
    if (r < 0)
        return not_opened(l->look, -r);
    if (l->look->file >= 0 && !fd_same_file(fd, l->look->file))
        return BENEATH_MOVED;
    bool is_git = l->look->git && l->look->carries && S_ISDIR(st.stx_mode) &&
                  beneath_is_git_directory(fd, (struct str){0});
    return is_git || is_guarded_entry(l, &st) ? BENEATH_GUARDED : BENEATH_FREE;
}

enum beneath_found beneath_look(struct beneath_look *look)
{
    const struct beneath_root *root = look->root;
    FD_AT_END int own = -1;
    struct looking l = {.look = look, .whole = {look->path, strlen(look->path)}, .at = root->fd};
    look->git = look->git && guard_protects_git(root->guard);
    l.leads = look->git && root->trees && guard_trees_has_leads(root);
    if (str_is(l.whole, "."))
        return BENEATH_FREE;
    struct statx top;
    if (look->known && folder_stat(root->fd, "", &top) == 0)
        l.inode = top.stx_ino;
    for (size_t next = 0; guard_next_name(l.whole, &next, &l.name);) {
        if (look->git && beneath_is_git_directory(l.at, l.name))
            return BENEATH_GUARDED;
        if (l.name.p + l.name.n == l.whole.p + l.whole.n)
            break;
        enum beneath_found found = enter_still_folder(&l, &own);
        if (found != BENEATH_FREE)
            return found;
    }
    if (look->dir >= 0 && !fd_same_file(l.at, look->dir))
        return BENEATH_MOVED;
    return look_at_last(&l);
}

/* What the rules say of it in other folders. */
static enum guard_verdict judge_known(const struct beneath_root *root, const char *real,
                                      const char **ret_rule)
{
    struct str path = {real, strlen(real)};
    return root->trees && root->guard ? guard_judge_elsewhere(root->guard, path, false, ret_rule)
                                      : GUARD_OPEN;
}

int beneath_still(const struct beneath_root *root, const char *path, const char *real, int dir,
                  unsigned flags, struct err *err)
{
    struct beneath_real refused = {.text = real, .rule = ".git"};
    const char *rule;
    enum guard_verdict known = judge_known(root, real, &rule);
    struct beneath_look look = {.root = root,
                                .path = real,
                                .dir = dir,
                                .file = -1,
                                .git = true,
                                .carries = flags & BENEATH_CARRIES,
                                .known = known != GUARD_OPEN};
    enum beneath_found found = beneath_look(&look);
    refused.error = look.error;
    refused.verdict = look.was_known ? known : GUARD_PROTECTED;
    if (look.was_known)
        refused.rule = rule;
    if (found == BENEATH_GUARDED)
        return beneath_refuse(&refused, path, err);
    return found == BENEATH_MOVED;
}

int beneath_still_file(const struct beneath_root *root, const char *path, const char *real, int fd,
                       unsigned flags, struct err *err)
{
    struct beneath_real refused = {.text = real};
    struct beneath_look look = {.root = root, .path = real, .dir = -1, .file = fd, .known = true};
    refused.verdict = judge_known(root, real, &refused.rule);
    if (!beneath_counts(refused.verdict, flags))
        return 0;
    enum beneath_found found = BENEATH_GUARDED;
    if (guard_trees_lock(root)) {
        found = beneath_look(&look);
        guard_trees_unlock(root);
    }
    refused.error = look.error;
    if (found == BENEATH_MOVED)
        return beneath_errno(err, ESTALE, path);
    return found == BENEATH_GUARDED ? beneath_refuse(&refused, path, err) : 0;
}

int beneath_hold(struct work *w, const struct beneath_root *root, const char *real,
                 struct guard_trees **held, struct err *err)
{
    const char *rule;
    bool holds = !*held && judge_known(root, real, &rule) != GUARD_OPEN;
    return holds ? guard_trees_hold(w, held, err) : 0;
}
