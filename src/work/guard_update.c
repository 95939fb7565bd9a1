#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "work/beneath_walk.h"
#include "work/guard_read.h"

/* Renames elsewhere can make the kernel give up on a path once. */
#define OPEN_TRIES 16

static bool is_gone(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ESTALE;
}

static bool is_refused(int error)
{
    return error == -EACCES || error == -EPERM;
}

static int open_folder(struct reading *r, uint32_t folder, int flags)
{
    int fd = -1;
    tree_path(r->tree, folder, r->path);
    for (int i = 0; i < OPEN_TRIES; i++) {
        fd = beneath_open_at(r->root, r->path[0] ? r->path : ".", flags | O_DIRECTORY | O_NOFOLLOW,
                             0, RESOLVE_NO_SYMLINKS);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : fd;
}

/* Out of its parent's list and away. What is there now is found when the parent is read again. */
static void drop(struct reading *r, uint32_t folder)
{
    struct tree *t = r->tree;
    uint32_t parent = t->folders[folder].parent;
    uint32_t *at = &t->folders[parent].first;
    while (*at != folder)
        at = &t->folders[*at].next;
    *at = t->folders[folder].next;
    t->folders[folder].next = TREE_NONE;
    t->folders[parent].changed = (struct tree_time){0};
    tree_drop_folder(t, folder);
    r->changed = true;
}

/* It cannot be opened. Its own times are still to be known, to see when that changes. */
static int close_unopened(struct reading *r, uint32_t folder)
{
    struct statx st;
    if (folder == 0)
        return -EACCES;
    FD_AT_END int fd = open_folder(r, folder, O_PATH);
    struct tree_folder *f = &r->tree->folders[folder];
    f->changed = (struct tree_time){0};
    if (fd >= 0 && folder_stat(fd, "", &st) == 0) {
        f->id = folder_id(&st);
        f->changed = (struct tree_time){st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec};
    }
    return folder_close(r, folder);
}

/* 1: it is gone, and no longer in the tree. *ret_fd is the folder, where it was opened. */
static int read_anew(struct reading *r, uint32_t folder, int *ret_fd)
{
    FD_AT_END int fd = open_folder(r, folder, O_RDONLY);
    int error = fd < 0 ? fd : folder_read(r, folder, fd);
    if (folder > 0 && fd < 0 && is_gone(error)) {
        drop(r, folder);
        return 1;
    }
    if (fd < 0 && is_refused(error))
        return close_unopened(r, folder);
    if (error < 0)
        return error;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static bool is_unchanged(const struct tree_folder *f, const struct statx *st)
{
    return f->changed.sec != 0 && f->changed.sec == st->stx_ctime.tv_sec &&
           f->changed.nsec == st->stx_ctime.tv_nsec;
}

/* Whether the folder is the one that is known, and as it was. 1: gone. */
static int check(struct reading *r, int parent, uint32_t folder)
{
    struct tree *t = r->tree;
    struct tree_folder *f = &t->folders[folder];
    struct statx st;
    char name[PATH_NAME_MAX + 1];
    memcpy(name, t->names.data + f->name, f->name_n);
    name[f->name_n] = '\0';
    int error = folder_stat(parent, name, &st);
    if (is_gone(error) || (error == 0 && !S_ISDIR(st.stx_mode))) {
        drop(r, folder);
        return 1;
    }
    if (error < 0)
        return error;
    struct tree_id id = folder_id(&st);
    bool same = tree_same_id(&id, &f->id);
    if (f->kind == GUARDED_SECRET || f->flags & TREE_TOO_LONG) {
        r->changed |= !same;
        f->id = id;
        return 0;
    }
    if (!same || !is_unchanged(f, &st))
        f->flags |= TREE_READ;
    return 0;
}

static int check_children(struct reading *r, uint32_t folder, int fd)
{
    struct tree *t = r->tree;
    for (uint32_t at = t->folders[folder].first, next; at != TREE_NONE; at = next) {
        next = t->folders[at].next;
        if (t->folders[at].flags & TREE_READ)
            continue;
        int error = check(r, fd, at);
        if (error < 0)
            return error;
    }
    return 0;
}

/* 1: the folder is gone. */
static int visit(struct reading *r, uint32_t folder, bool all)
{
    struct tree *t = r->tree;
    FD_AT_END int fd = -1;
    if (t->folders[folder].flags & (TREE_READ | TREE_FOREIGN)) {
        int error = read_anew(r, folder, &fd);
        if (error != 0)
            return error;
    }
    if (!all || t->folders[folder].first == TREE_NONE)
        return 0;
    if (fd < 0)
        fd = open_folder(r, folder, O_PATH);
    int error = fd < 0 ? fd : check_children(r, folder, fd);
    fd = fd < 0 ? -1 : fd;
    if (is_gone(error) || is_refused(error)) {
        /* Changed since it was looked at. */
        fd_closep(&fd);
        error = read_anew(r, folder, &fd);
        if (error == 0 && fd >= 0)
            error = check_children(r, folder, fd);
    }
    return error;
}

static bool is_to_visit(const struct tree *t, uint32_t folder, bool all)
{
    return all || t->folders[folder].flags & TREE_READ;
}

static uint32_t skip_to(const struct tree *t, uint32_t at, bool all)
{
    while (at != TREE_NONE && !is_to_visit(t, at, all))
        at = t->folders[at].next;
    return at;
}

int folders_update(struct reading *r, uint32_t top, bool all)
{
    struct tree *t = r->tree;
    for (uint32_t at = top; at != TREE_NONE;) {
        uint32_t parent = t->folders[at].parent;
        uint32_t next = at == top ? TREE_NONE : t->folders[at].next;
        int error = visit(r, at, all);
        if (error < 0)
            return error;
        uint32_t down = error == 0 ? skip_to(t, t->folders[at].first, all) : TREE_NONE;
        if (down != TREE_NONE) {
            at = down;
            continue;
        }
        if (at == top)
            break;
        for (next = skip_to(t, next, all); next == TREE_NONE && parent != top;) {
            next = skip_to(t, t->folders[parent].next, all);
            parent = t->folders[parent].parent;
        }
        at = next;
    }
    return 0;
}
