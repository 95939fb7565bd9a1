/* What a command has made is copied into the workspace's store. A copy has its name there only when it is whole: until then
 * it is called TAG.part, so that whoever goes on after a kill knows which of the two is to be kept. */
#include "work/quarantine_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/acl.h"
#include "work/folder_lock.h"
#include "work/quarantine_modes.h"
#include "work/quarantine_room.h"

#define FOLDER "quarantine"
#define PART ".part"
/* What is larger, or holds files that were there before, stays where it is, under a name that nobody obeys. */
#define COPY_ENTRIES_MAX 20000
#define COPY_BYTES_MAX ((int64_t)256 << 20)
#define COPY_DEPTH_MAX 64
#define LISTING_BYTES (32u << 10)

struct copying {
    struct work *w;
    int64_t since_ns; /* what is older was not made by the command */
    int64_t entries;
    int64_t bytes;
    struct quarantine_room room;
    bool full; /* there was no room for it */
};

/* -EFBIG where there is more than one entry may have, or than there is room for. */
static int check_room(struct copying *c)
{
    c->full = c->bytes > c->room.bytes || c->entries > c->room.entries;
    return c->full || c->bytes > COPY_BYTES_MAX || c->entries > COPY_ENTRIES_MAX ? -EFBIG : 0;
}

static int copy_quarantined_bytes(struct copying *c, int from, int to)
{
    for (;;) {
        ssize_t n = read(from, c->w->chunk, WORK_CHUNK);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        c->bytes += n;
        int r = check_room(c);
        if (r == 0)
            r = fd_write_all(to, c->w->chunk, (size_t)n);
        if (r < 0)
            return r;
    }
}

/* The user may want it back as it was. */
static int keep_mode(int from, int to)
{
    struct stat st;
    if (fstat(from, &st) < 0)
        return -errno;
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    int r = acl_set_mode(from, to, quarantine_mode(&st));
    return r < 0 ? r : futimens(to, times) < 0 ? -errno : 0;
}

static int copy_quarantined_file(struct copying *c, int from, const char *name, int to,
                                 const char *as)
{
    FD_AT_END int in = beneath_open_child_file(from, name);
    if (in < 0)
        return -errno;
    FD_AT_END int out = -1;
    int r = beneath_create(to, as, &out) < 0 ? -errno : copy_quarantined_bytes(c, in, out);
    return r < 0 ? r : keep_mode(in, out);
}

/* A link becomes a file with its target as the content: the worker makes no links. It is known by its mode, a bit of which
 * no other copy has (session/quarantine_restore.c). */
static int copy_link(int from, const char *name, int to, const char *as)
{
    char target[PATH_TEXT_MAX];
    struct stat st;
    FD_AT_END int out = -1;
    /* Reading it may change when it was read. */
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    ssize_t n = readlinkat(from, name, target, sizeof target);
    if (n < 0 || beneath_create(to, as, &out) < 0)
        return -errno;
    int r = fd_write_all(out, target, (size_t)n);
    if (r == 0 && (fchmod(out, S_ISVTX | 0600) < 0 || futimens(out, times) < 0))
        r = -errno;
    return r;
}

static int copy_quarantined_entry(struct copying *c, int from, const char *name, int to,
                                  const char *as, int depth);

static int copy_quarantined_listing(struct copying *c, int in, int out, const char *listing,
                                    ssize_t n, int depth)
{
    for (ssize_t at = 0; at < n;) {
        const struct dirent64 *d = (const void *)(listing + at);
        at += d->d_reclen;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        int r = copy_quarantined_entry(c, in, d->d_name, out, d->d_name, depth + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

static int copy_quarantined_folder(struct copying *c, int from, const char *name, int to,
                                   const char *as, int depth)
{
    FD_AT_END int in = beneath_open_child(from, name);
    if (in < 0 || mkdirat(to, as, 0700) < 0)
        return -errno;
    FD_AT_END int out = beneath_open_child(to, as);
    if (out < 0)
        return -errno;
    FREE_AT_END char *listing = mem_zero(LISTING_BYTES);
    int r = 0;
    for (ssize_t n; r == 0 && (n = getdents64(in, listing, LISTING_BYTES)) != 0;)
        r = n < 0 ? -errno : copy_quarantined_listing(c, in, out, listing, n, depth);
    return r < 0 ? r : keep_mode(in, out);
}

/* Sockets, FIFOs and devices hold nothing. */
static int copy_quarantined_entry(struct copying *c, int from, const char *name, int to,
                                  const char *as, int depth)
{
    struct statx st;
    struct err err;
    c->entries++;
    if (check_room(c) < 0 || depth > COPY_DEPTH_MAX)
        return -EFBIG;
    if (work_check_cancel(c->w, &err) < 0)
        return -ECANCELED;
    if (statx(from, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_BTIME, &st) < 0)
        return -errno;
    if (work_is_older(&st, c->since_ns))
        return -ESTALE;
    if (S_ISDIR(st.stx_mode))
        return copy_quarantined_folder(c, from, name, to, as, depth);
    if (S_ISLNK(st.stx_mode))
        return copy_link(from, name, to, as);
    return S_ISREG(st.stx_mode) ? copy_quarantined_file(c, from, name, to, as) : 0;
}

int quarantine_open(const struct beneath_root *store)
{
    if (mkdirat(store->fd, FOLDER, 0700) < 0 && errno != EEXIST)
        return -errno;
    int folder = beneath_open_child(store->fd, FOLDER);
    return folder < 0 ? -errno : folder;
}

/* A folder of its own for each, so that names never meet. */
static int open_shelter(int folder, const char *part, int *ret_fd)
{
    if (mkdirat(folder, part, 0700) < 0)
        return -errno;
    *ret_fd = beneath_open_child(folder, part);
    return *ret_fd < 0 ? -errno : 0;
}

static int copy_into(struct copying *c, int folder, const char *part,
                     const struct beneath_place *place, const char *aside)
{
    FD_AT_END int shelter = -1;
    int r = open_shelter(folder, part, &shelter);
    return r < 0 ? r : copy_quarantined_entry(c, place->dir, aside, shelter, place->name, 0);
}

static void remove_part(struct work *w, int folder, const char *part)
{
    int64_t removed = 0;
    work_remove_tree_since(w, folder, part, 0, &removed);
}

void quarantine_drop_part(struct work *w, const struct beneath_root *store,
                          const struct op_quarantine_request *q)
{
    FD_AT_END int folder = quarantine_open(store);
    FREE_AT_END char *part = mem_format("%.*s" PART, (int)q->tag.n, q->tag.p);
    if (folder >= 0)
        remove_part(w, folder, part);
}

/* Into a folder of its own in the quarantine that is open as `folder`. A copy that is not whole is of no use to anyone. */
static int copy_out(struct copying *c, int folder, const char *tag,
                    const struct beneath_place *place, const char *aside)
{
    FREE_AT_END char *part = mem_format("%s" PART, tag);
    int r = copy_into(c, folder, part, place, aside);
    if (r == 0 && renameat2(folder, part, folder, tag, RENAME_NOREPLACE) < 0)
        r = -errno;
    if (r < 0)
        remove_part(c->w, folder, part);
    return r;
}

enum quarantine_outcome quarantine_move_out(struct work *w, const struct beneath_root *store,
                                            const struct op_quarantine_request *q,
                                            const struct beneath_place *place, const char *aside,
                                            struct op_quarantine_reply *ret)
{
    struct copying c = {.w = w, .since_ns = q->since_ns};
    FREE_AT_END char *tag = mem_copy(q->tag.p, q->tag.n);
    FD_AT_END int folder = quarantine_open(store);
    if (folder < 0)
        return QUARANTINE_RENAMED;
    /* Until it is counted: another gate would find the same room. One that copies for seconds is not waited for. */
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    struct err unused;
    (void)folder_lock_take(w, folder, FOLDER, &lock, &unused);
    c.room = quarantine_room(folder);
    c.full = c.room.bytes <= 0 || c.room.entries <= 1;
    int r = c.full ? -EFBIG : copy_out(&c, folder, tag, place, aside);
    ret->full = c.full;
    if (r < 0)
        return QUARANTINE_RENAMED;
    quarantine_room_take(folder, &(struct quarantine_room){c.bytes, c.entries + 1});
    quarantine_remove_aside(w, q, place, aside, ret);
    return QUARANTINE_MOVED;
}

void quarantine_remove_aside(struct work *w, const struct op_quarantine_request *q,
                             const struct beneath_place *place, const char *aside,
                             struct op_quarantine_reply *ret)
{
    int64_t removed = 0;
    ret->rest = work_remove_tree_since(w, place->dir, aside, q->since_ns, &removed) < 0;
}
