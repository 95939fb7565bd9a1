/* Whether something is mounted in a folder that is to be removed. Known before the first entry is: what lies on a mount
 * is not the workspace's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
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
};

static void search_done(struct search *s)
{
    while (s->depth > 0)
        close(s->folders[--s->depth].fd);
    free(s->listing);
}

/* 1: something is mounted on it, 0, or -errno. *ret_folder: it can be gone into. */
static int look(int dir, const char *name, bool *ret_folder)
{
    struct statx st;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
        return errno == ENOENT ? *ret_folder = false, 0 : -errno;
    *ret_folder = S_ISDIR(st.stx_mode);
    return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static int enter(struct search *s, int dir, const char *name)
{
    if (s->depth == DEPTH_MAX)
        return -E2BIG;
    int fd = beneath_open_child_here(dir, name);
    if (fd < 0)
        return errno == EXDEV ? 1 : errno == ENOENT ? 0 : -errno;
    s->folders[s->depth].fd = fd;
    s->folders[s->depth++].next = 0;
    return 0;
}

/* Reads on in the deepest folder, until one in it is gone into or it is at its end. 1: there is a mount, 0 or -errno. */
static int read_on(struct search *s)
{
    int depth = s->depth;
    int fd = s->folders[depth - 1].fd;
    if (lseek(fd, s->folders[depth - 1].next, SEEK_SET) < 0)
        return -errno;
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
        int r = look(fd, entry->d_name, &folder);
        if (r == 0 && folder)
            r = enter(s, fd, entry->d_name);
        if (r != 0 || s->depth > depth)
            return r;
    }
    if (got == 0)
        close(s->folders[--s->depth].fd);
    return 0;
}

int work_check_mounts(struct work *w, const struct beneath_place *place, const char *path,
                      struct err *err)
{
    CLEANUP(search_done) struct search s = {.listing = mem_zero(LISTING_BYTES)};
    bool folder = false;
    int r = look(place->dir, place->name, &folder);
    if (r == 0 && folder)
        r = enter(&s, place->dir, place->name);
    while (r == 0 && s.depth > 0) {
        if (work_check_cancel(w, err) < 0)
            return -1;
        r = read_on(&s);
    }
    if (r < 0)
        return beneath_errno(err, -r, path);
    if (r == 0)
        return 0;
    err_set(err, ERR_READ_ONLY,
            "`%.200s` is or holds a mount point: nothing was removed; what is mounted there is not "
            "deleted with the folder, ask the user to unmount it",
            path);
    return err_reason(err, "mount_point");
}
