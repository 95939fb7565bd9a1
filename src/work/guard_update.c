#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "work/guard_read.h"
#include "work/guard_reopen.h"

static bool is_refused(int error)
{
    return error == -EACCES || error == -EPERM;
}

/* Out of its parent's list and away. What is there now is found when the parent is read again. */
static void drop_gone_folder(struct reading *r, uint32_t folder)
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
    struct timespec before;
    clock_gettime(CLOCK_REALTIME, &before);
    if (folder == 0)
        return -EACCES;
    FD_AT_END int fd = folder_open(r->tree, r->root, folder, r->path, O_PATH);
    struct tree_folder *f = &r->tree->folders[folder];
    f->changed = (struct tree_time){0};
    if (fd >= 0 && folder_stat(fd, "", &st) == 0) {
        f->id = folder_id(&st);
        struct tree_time changed = {st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec};
        if (!tree_time_is_new(&changed, &before))
            f->changed = changed;
    }
    return folder_close(r, folder);
}

static bool is_closed_to_owner(int fd)
{
    struct statx st;
    return fd < 0 ? is_refused(fd) : folder_stat(fd, "", &st) == 0 && !folder_can_reach(fd, &st);
}

/* 1: it is gone, and no longer in the tree. */
static int visit_tree_folder(struct reading *r, uint32_t folder)
{
    FD_AT_END int fd = folder_open(r->tree, r->root, folder, r->path, O_RDONLY);
    if (r->reopens && is_closed_to_owner(fd)) {
        int again = guard_reopen_folder(r, folder);
        r->reopened = again >= 0;
        if (r->reopened) {
            fd_closep(&fd);
            fd = again;
        }
    }
    int error = fd < 0 ? fd : folder_read(r, folder, fd);
    r->reopened = false;
    if (folder > 0 && fd < 0 && beneath_is_gone(-error)) {
        r->lost = true;
        drop_gone_folder(r, folder);
        return 1;
    }
    if (fd < 0 && is_refused(error))
        return close_unopened(r, folder);
    return error;
}

static uint32_t skip_to_folder_to_read(const struct tree *t, uint32_t at)
{
    while (at != TREE_NONE && !(t->folders[at].flags & TREE_READ))
        at = t->folders[at].next;
    return at;
}

int folders_update(struct reading *r, uint32_t top)
{
    struct tree *t = r->tree;
    for (uint32_t at = top; at != TREE_NONE;) {
        uint32_t parent = t->folders[at].parent;
        uint32_t next = at == top ? TREE_NONE : t->folders[at].next;
        int error = visit_tree_folder(r, at);
        if (error < 0)
            return error;
        uint32_t down = error == 0 ? skip_to_folder_to_read(t, t->folders[at].first) : TREE_NONE;
        if (down != TREE_NONE) {
            at = down;
            continue;
        }
        if (at == top)
            break;
        for (next = skip_to_folder_to_read(t, next); next == TREE_NONE && parent != top;) {
            next = skip_to_folder_to_read(t, t->folders[parent].next);
            parent = t->folders[parent].parent;
        }
        at = next;
    }
    return 0;
}
