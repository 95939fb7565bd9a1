/* What a command has made and the user's programs would obey is taken out of the project: copied into the workspace's
 * store, where nothing finds it by itself, and then removed. The store is another mount, so a rename cannot do it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/guard_pattern.h"
#include "work/beneath_walk.h"
#include "work/git_plain.h"
#include "work/guard_read.h"
#include "work/hidden_git.h"
#include "work/quarantine_modes.h"
#include "work/quarantine_room.h"
#include "work/work.h"

#define FOLDER "quarantine"
/* What is larger, or holds files that were there before, stays where it is, under a name that nobody obeys. */
#define COPY_ENTRIES_MAX 20000
#define COPY_BYTES_MAX ((int64_t)256 << 20)
#define COPY_DEPTH_MAX 64
#define LISTING_BYTES (32u << 10)
#define NAMES_TRIED 1000

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

static int copy_bytes(struct copying *c, int from, int to)
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
    return fchmod(to, quarantine_mode(&st)) < 0 || futimens(to, times) < 0 ? -errno : 0;
}

static int copy_file(struct copying *c, int from, const char *name, int to, const char *as)
{
    FD_AT_END int in = beneath_open_child_file(from, name);
    if (in < 0)
        return -errno;
    FD_AT_END int out = -1;
    int r = beneath_create(to, as, &out) < 0 ? -errno : copy_bytes(c, in, out);
    return r < 0 ? r : keep_mode(in, out);
}

/* A link becomes a file with its target as the content: the worker makes no links. It is known by its mode, a bit of which
 * no other copy has (session/quarantine_restore.c). */
static int copy_link(int from, const char *name, int to, const char *as)
{
    char target[PATH_TEXT_MAX];
    FD_AT_END int out = -1;
    ssize_t n = readlinkat(from, name, target, sizeof target);
    if (n < 0 || beneath_create(to, as, &out) < 0)
        return -errno;
    int r = fd_write_all(out, target, (size_t)n);
    return r < 0 ? r : fchmod(out, S_ISVTX | 0600) < 0 ? -errno : 0;
}

static int copy_entry(struct copying *c, int from, const char *name, int to, const char *as,
                      int depth);

static int copy_listed(struct copying *c, int in, int out, const char *listing, ssize_t n,
                       int depth)
{
    for (ssize_t at = 0; at < n;) {
        const struct dirent64 *d = (const void *)(listing + at);
        at += d->d_reclen;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        int r = copy_entry(c, in, d->d_name, out, d->d_name, depth + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

static int copy_folder(struct copying *c, int from, const char *name, int to, const char *as,
                       int depth)
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
        r = n < 0 ? -errno : copy_listed(c, in, out, listing, n, depth);
    return r < 0 ? r : keep_mode(in, out);
}

/* Sockets, FIFOs and devices hold nothing. */
static int copy_entry(struct copying *c, int from, const char *name, int to, const char *as,
                      int depth)
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
        return copy_folder(c, from, name, to, as, depth);
    if (S_ISLNK(st.stx_mode))
        return copy_link(from, name, to, as);
    return S_ISREG(st.stx_mode) ? copy_file(c, from, name, to, as) : 0;
}

static int open_quarantine(const struct beneath_root *store)
{
    if (mkdirat(store->fd, FOLDER, 0700) < 0 && errno != EEXIST)
        return -errno;
    int folder = beneath_open_child(store->fd, FOLDER);
    return folder < 0 ? -errno : folder;
}

/* A folder of its own for each, so that names never meet. */
static int open_shelter(int folder, struct str tag, int *ret_fd)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)tag.n, tag.p);
    if (mkdirat(folder, name, 0700) < 0)
        return -errno;
    *ret_fd = beneath_open_child(folder, name);
    return *ret_fd < 0 ? -errno : 0;
}

/* A folder that the command made read-only around it. */
static int make_writable(int dir)
{
    struct stat st;
    if (fstat(dir, &st) < 0 || fchmodat(dir, ".", (st.st_mode & 0777) | 0700, 0) < 0)
        return -errno;
    return 0;
}

/* What git took for a repository is none under another name either. */
static void take_head(const struct beneath_place *place, const char *name)
{
    FD_AT_END int dir = beneath_open_child(place->dir, name);
    if (dir >= 0)
        renameat2(dir, "HEAD", dir, "HEAD.quarantined", 0);
}

static bool is_same(int dir, const char *name, const struct op_identity *was, enum file_type type)
{
    struct statx st;
    if (folder_stat(dir, name, &st) < 0)
        return false;
    struct tree_id id = folder_id(&st);
    struct op_identity now = tree_identity(&id);
    return was->inode != 0 && now.inode == was->inode && now.born_ns == was->born_ns &&
           work_file_type(st.stx_mode) == type;
}

/* A name that nobody obeys, and that a command cannot have taken before; `name` has PATH_NAME_MAX + 1 bytes. */
static int rename_to_free_name(const struct beneath_place *place, char *name, int64_t *ret_number)
{
    bool forced = false;
    for (int i = 0; i < NAMES_TRIED; i++) {
        uint64_t number = 0;
        if (getrandom(&number, sizeof number, 0) < 0)
            return -errno;
        *ret_number = (int64_t)(number >> 1);
        snprintf(name, PATH_NAME_MAX + 1, OP_QUARANTINE_ASIDE, *ret_number);
        if (renameat2(place->dir, place->name, place->dir, name, RENAME_NOREPLACE) == 0)
            return 0;
        if ((errno == EACCES || errno == EPERM) && !forced && make_writable(place->dir) == 0)
            forced = true;
        else if (errno != EEXIST)
            return -errno;
    }
    return -EBUSY;
}

/* A rename goes by the name, under which something else may be by now: that is seen afterwards, and put back.
 * 1: it was something else. */
static int rename_aside(const struct beneath_place *place, const struct op_guarded *was, char *name,
                        int64_t *ret_number)
{
    int r = rename_to_free_name(place, name, ret_number);
    if (r < 0)
        return r;
    if (is_same(place->dir, name, &was->id, was->type)) {
        take_head(place, name);
        return 0;
    }
    return renameat2(place->dir, name, place->dir, place->name, RENAME_NOREPLACE) < 0 ? -errno : 1;
}

/* A copy that is not whole is of no use to anyone. */
static void drop_shelter(struct copying *c, int folder, int shelter,
                         const struct op_quarantine_request *q, const char *name)
{
    int64_t removed = 0;
    FREE_AT_END char *tag = mem_copy(q->tag.p, q->tag.n);
    work_remove_tree_since(c->w, shelter, name, 0, &removed);
    (void)!unlinkat(folder, tag, AT_REMOVEDIR);
}

/* Into a folder of its own in the quarantine that is open as `folder`. */
static int copy_out(struct copying *c, int folder, const struct op_quarantine_request *q,
                    const struct beneath_place *place, const char *aside)
{
    FD_AT_END int shelter = -1;
    int r = open_shelter(folder, q->tag, &shelter);
    if (r == 0)
        r = copy_entry(c, place->dir, aside, shelter, place->name, 0);
    if (r < 0 && shelter >= 0)
        drop_shelter(c, folder, shelter, q, place->name);
    return r;
}

/* From the name that it was given aside. What cannot be copied as a whole stays there. */
static enum quarantine_outcome move_out(struct work *w, const struct beneath_root *store,
                                        const struct op_quarantine_request *q,
                                        const struct beneath_place *place, const char *aside,
                                        struct op_quarantine_reply *ret)
{
    struct copying c = {.w = w, .since_ns = q->since_ns};
    int64_t removed = 0;
    FD_AT_END int folder = open_quarantine(store);
    if (folder < 0)
        return QUARANTINE_RENAMED;
    c.room = quarantine_room(folder);
    c.full = c.room.bytes <= 0 || c.room.entries <= 1;
    int r = c.full ? -EFBIG : copy_out(&c, folder, q, place, aside);
    ret->full = c.full;
    if (r < 0)
        return QUARANTINE_RENAMED;
    quarantine_room_take(folder, &(struct quarantine_room){c.bytes, c.entries + 1});
    ret->rest = work_remove_tree_since(w, place->dir, aside, q->since_ns, &removed) < 0;
    return QUARANTINE_MOVED;
}

static size_t count_names(struct str path)
{
    size_t count = 0;
    struct str name;
    for (size_t at = 0; guard_next_name(path, &at, &name);)
        count += name.n > 0;
    return count;
}

/* What is left of a path without its last names; .n is 0 for the root. */
static struct str without_last(struct str path, size_t names)
{
    for (; names > 0; names--) {
        while (path.n && path.p[path.n - 1] != '/')
            path.n--;
        path.n -= path.n > 0;
    }
    return path;
}

/* How many names at the end of a path are those of a folder on the way to what a rule protects; 0: none. */
static size_t count_way(const struct guard *guard, struct str path)
{
    const char *rule;
    size_t all = count_names(path);
    for (size_t names = 1; names <= all; names++) {
        struct str before = without_last(path, names);
        size_t at = before.n + (before.n > 0);
        if (guard_holds(guard, (struct str){path.p + at, path.n - at}, &rule) == GUARD_PROTECTED)
            return names;
    }
    return 0;
}

static bool is_called_git(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcasecmp(slash ? slash + 1 : path, ".git") == 0;
}

/* Whether it lies where the programs that obey it look by themselves: at the workspace's root, or at that of a
 * repository. The rule says how many names belong to it. */
static bool is_at_a_root(const struct beneath_root *root, const char *path, bool is_link)
{
    const char *rule = "";
    struct str whole = {path, strlen(path)};
    char git[PATH_TEXT_MAX + 8];
    /* A file that leads git elsewhere makes the folder around it a root. */
    if (is_called_git(path))
        return true;
    size_t names = 0;
    if (guard_judge(root->guard, whole, true, &rule) != GUARD_OPEN ||
        guard_judge(root->guard, whole, false, &rule) != GUARD_OPEN)
        names = count_names((struct str){rule, strlen(rule)});
    else if (is_link)
        names = count_way(root->guard, whole);
    /* By what is beside it: of a root that looks like a repository only HEAD is taken. */
    if (names == 0)
        return str_is(whole, "HEAD");
    struct str folder = without_last(whole, names);
    snprintf(git, sizeof git, "%.*s%s.git", (int)folder.n, folder.p, folder.n ? "/" : "");
    if (folder.n == 0)
        return true;
    FD_AT_END int fd = beneath_open_at(root->fd, git, O_PATH | O_NOFOLLOW, 0, 0);
    return fd >= 0;
}

/* A repository may stay where nothing in it makes git run a program. */
static bool is_plain_repository(const struct beneath_place *place)
{
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    return dir >= 0 && git_directory_is_plain(dir);
}

/* Of a folder that is a repository only by what is in it, HEAD is taken out: then it is none any more. What else is in it
 * may be the project's own. */
static int go_to_head(struct beneath_place *place, struct op_guarded *was)
{
    struct statx st;
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    if (dir < 0)
        return -errno;
    if (!is_same(dir, "", &was->id, was->type))
        return -EREMCHG;
    int r = folder_stat(dir, "HEAD", &st);
    if (r < 0)
        return r;
    struct tree_id id = folder_id(&st);
    was->id = tree_identity(&id);
    was->type = work_file_type(st.stx_mode);
    close(place->dir);
    place->dir = TAKE_FD(dir);
    snprintf(place->name, sizeof place->name, "HEAD");
    return 0;
}

/* A common directory needs no HEAD: it goes as a whole. */
static bool has_head(const struct beneath_place *place)
{
    struct statx st;
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    return dir < 0 || folder_stat(dir, "HEAD", &st) != -ENOENT;
}

/* 1: it may stay, 0: it is to go, -errno. Then `place` and `was` are what is to go. */
static int is_to_stay(const struct beneath_root *root, const struct op_quarantine_request *q,
                      struct beneath_place *place, struct op_guarded *was)
{
    struct stat st;
    bool link = fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(st.st_mode);
    /* The user's git reads it as a part of a git directory, whatever it is called. */
    if (was->kind == GUARDED_PART)
        return 0;
    if (!q->git)
        return !is_at_a_root(root, q->path.p, link);
    if (is_plain_repository(place))
        return 1;
    return strcmp(place->name, ".git") == 0 || !has_head(place) ? 0 : go_to_head(place, was);
}

/* The place of an entry, or of the root itself. */
static int find_place(const struct beneath_root *root, const char *path, struct beneath_place *ret,
                      struct err *err)
{
    struct beneath_real real;
    if (strcmp(path, ".") != 0)
        return beneath_entry(root, path, ret, &real, err);
    snprintf(ret->name, sizeof ret->name, ".");
    return beneath_open(root, ".", O_PATH | O_DIRECTORY, &ret->dir, err);
}

/* Whoever made it can open it again, and so can the user, with what is in it. */
static int open_folder(const struct beneath_place *place, struct op_quarantine_reply *ret,
                       const char *path, struct err *err)
{
    struct stat st;
    if (fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, path);
    mode_t mode = (st.st_mode & 0777) | 0700;
    if (S_ISDIR(st.st_mode) && (st.st_mode & 0777) != mode &&
        fchmodat(place->dir, place->name, mode, 0) == 0) {
        ret->outcome = QUARANTINE_OPENED;
        quarantine_note_mode(&st, mode);
    }
    return 0;
}

/* Moves it where it is to go. */
static int take_out(struct work *w, const struct op_quarantine_request *q,
                    const struct beneath_root *store, const struct beneath_place *place,
                    const struct op_guarded *was, struct op_quarantine_reply *ret, struct err *err)
{
    char aside[PATH_NAME_MAX + 1];
    int r = rename_aside(place, was, aside, &ret->number);
    if (r == -EEXIST)
        return err_set(err, ERR_CONFLICT, "`%s` was replaced while it was moved to `%s`", q->path.p,
                       aside);
    if (r < 0)
        return beneath_errno(err, -r, q->path.p);
    ret->outcome = r == 1 ? QUARANTINE_OTHER : move_out(w, store, q, place, aside, ret);
    return 0;
}

/* What stays, though nobody looks into it: what is in there may be dangerous all the same. */
static int leave(struct work *w, const struct op_quarantine_request *q,
                 const struct beneath_place *place, const struct op_guarded *was,
                 struct op_quarantine_reply *ret, struct err *err)
{
    if (q->closed && open_folder(place, ret, q->path.p, err) < 0)
        return -1;
    if (!q->git && was->type == TYPE_DIRECTORY && ret->outcome == QUARANTINE_LEFT)
        hidden_git_find(w, place->dir, place->name, q->path, ret);
    return 0;
}

int work_quarantine(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    const struct op_quarantine_request *q = &request->quarantine;
    struct op_quarantine_reply *ret = &reply->quarantine;
    struct beneath_place place = {.dir = -1};
    struct op_guarded was;
    *ret = (struct op_quarantine_reply){.outcome = QUARANTINE_LEFT};
    if (op_guarded_next(&body, &was) <= 0)
        return err_set(err, ERR_INTERNAL, "it is not said what is to be moved");
    const struct beneath_root *store = work_root(w, q->store, true, err);
    struct beneath_root into = {.fd = store ? store->fd : -1};
    const struct beneath_root *root = work_writable_root(w, q->root, true, q->path.p, err);
    if (!store || !root || find_place(root, q->path.p, &place, err) < 0)
        return -1;
    int r = !is_same(place.dir, place.name, &was.id, was.type) ? -EREMCHG
            : q->closed                                        ? 1
                                                               : is_to_stay(root, q, &place, &was);
    CLEANUP(fd_closep) int dir = place.dir;
    if (r == -EREMCHG) {
        ret->outcome = QUARANTINE_OTHER;
        return 0;
    }
    if (r < 0)
        return beneath_errno(err, -r, q->path.p);
    ret->head = r == 0 && q->git && strcmp(place.name, "HEAD") == 0;
    return r == 1 ? leave(w, q, &place, &was, ret, err)
                  : take_out(w, q, &into, &place, &was, ret, err);
}
