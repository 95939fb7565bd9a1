/* Whether a folder can be removed or moved with all that is in it. Known before the first entry is touched: what lies on
 * a mount is not the workspace's, and what the rules guard (subtree.h) stays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/subtree.h"
#include "work/work.h"

/* As remove.c goes down. */
#define DEPTH_MAX 254
#define LISTING_BYTES (32u << 10)

/* The folders on the way down; the last is being read. */
struct search {
    struct {
        int fd;
        off_t next; /* where reading goes on */
    } folders[DEPTH_MAX];
    int depth;
    char *listing;
    struct subtree tree;
};

enum found { FOUND_NOTHING, FOUND_MOUNT, FOUND_GUARDED };

static void tree_search_done(struct search *s)
{
    while (s->depth > 0)
        close(s->folders[--s->depth].fd);
    free(s->listing);
    subtree_done(&s->tree);
}

/* enum found, or -errno. *ret_folder: it can be gone into. */
static int look_for_mount(int dir, const char *name, bool *ret_folder)
{
    struct statx st;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
        return errno == ENOENT ? *ret_folder = false, 0 : -errno;
    *ret_folder = S_ISDIR(st.stx_mode);
    return st.stx_attributes & STATX_ATTR_MOUNT_ROOT ? FOUND_MOUNT : FOUND_NOTHING;
}

/* The same. What is mounted in a folder that is moved goes along, as it is. */
static int look_at_checked_entry(struct search *s, int dir, const struct dirent64 *entry,
                                 bool *ret_folder)
{
    bool same = false;
    *ret_folder = entry->d_type == DT_DIR;
    int r = s->tree.moves && entry->d_type != DT_UNKNOWN
                ? FOUND_NOTHING
                : look_for_mount(dir, entry->d_name, ret_folder);
    if (r < 0 || (r == FOUND_MOUNT && !s->tree.moves))
        return r;
    if (subtree_keeps(&s->tree, dir, entry->d_name, *ret_folder, &same))
        return FOUND_GUARDED;
    *ret_folder = *ret_folder && !same;
    return FOUND_NOTHING;
}

static int enter_checked_folder(struct search *s, int dir, const char *name)
{
    if (s->depth == DEPTH_MAX)
        return -E2BIG;
    int fd = s->tree.moves ? beneath_open_child(dir, name) : beneath_open_child_here(dir, name);
    if (fd < 0)
        return errno == EXDEV ? FOUND_MOUNT : errno == ENOENT ? FOUND_NOTHING : -errno;
    s->folders[s->depth].fd = fd;
    s->folders[s->depth++].next = 0;
    return FOUND_NOTHING;
}

/* An entry of the deepest folder. */
static int enter_checked_entry(struct search *s, int dir, const char *name)
{
    int depth = s->depth;
    int r = enter_checked_folder(s, dir, name);
    if (s->depth == depth)
        return r;
    subtree_enter(&s->tree, name);
    return subtree_keeps_git(&s->tree, s->folders[depth].fd) ? FOUND_GUARDED : FOUND_NOTHING;
}

static void leave_checked_folder(struct search *s)
{
    close(s->folders[--s->depth].fd);
    if (s->depth > 0)
        subtree_leave(&s->tree);
}

/* Reads on in the deepest folder, until one in it is gone into or it is at its end. enum found, or -errno. */
static int read_on_in_tree(struct search *s)
{
    int depth = s->depth;
    int fd = s->folders[depth - 1].fd;
    /* A folder that has just been removed has no such place any more. */
    if (lseek(fd, s->folders[depth - 1].next, SEEK_SET) < 0)
        return errno == EINVAL ? -ENOENT : -errno;
    ssize_t got = getdents64(fd, s->listing, LISTING_BYTES);
    if (got < 0)
        return -errno;
    for (ssize_t at = 0; at < got;) {
        const struct dirent64 *entry = (const void *)(s->listing + at);
        bool folder = false;
        at += entry->d_reclen;
        s->folders[depth - 1].next = entry->d_off;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int r = look_at_checked_entry(s, fd, entry, &folder);
        if (r == FOUND_NOTHING && folder)
            r = enter_checked_entry(s, fd, entry->d_name);
        if (r != FOUND_NOTHING || s->depth > depth)
            return r;
    }
    if (got == 0)
        leave_checked_folder(s);
    return FOUND_NOTHING;
}

static int search_all(struct work *w, struct search *s, const struct beneath_place *place,
                      struct err *err)
{
    bool folder = true;
    int r = s->tree.moves ? FOUND_NOTHING : look_for_mount(place->dir, place->name, &folder);
    if (r == FOUND_NOTHING && folder)
        r = enter_checked_folder(s, place->dir, place->name);
    while (r == FOUND_NOTHING && s->depth > 0) {
        if (work_check_cancel(w, err) < 0)
            return -ECANCELED;
        r = read_on_in_tree(s);
    }
    return r;
}

int work_check_tree(struct work *w, const struct beneath_place *place, const struct tree_op *op,
                    struct err *err)
{
    CLEANUP(tree_search_done) struct search s = {.listing = mem_zero(LISTING_BYTES)};
    const struct git_move move = {op->root, op->real, op->to_root, op->to, place->dir, place->name};
    subtree_init(&s.tree, op->root, op->real, op->to ? &move : NULL);
    int r = search_all(w, &s, place, err);
    if (r == -ECANCELED)
        return -1;
    if (r < 0)
        return beneath_errno(err, -r, op->path);
    if (r == FOUND_NOTHING)
        return 0;
    if (r == FOUND_GUARDED)
        return subtree_refuse(&s.tree, op->path, err);
    err_set(err, ERR_READ_ONLY,
            "`%.200s` is or holds a mount point: nothing was removed; what is mounted there is not "
            "deleted with the folder, ask the user to unmount it",
            op->path);
    return err_reason(err, "mount_point");
}
