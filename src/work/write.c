#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/work.h"

/* Held from checking `if_match` to the rename, so that of two calls with the same expectation only
 * one succeeds. */
static pthread_mutex_t commit_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint temp_counter;

/* A write on its way: the temporary file lies beside its target until it is renamed onto it. */
struct writing {
    struct work *w;
    const struct op_write_request *q;
    const char *path;
    struct beneath_place place;
    struct stat old; /* of the file that is replaced */
    bool exists;
    int fd;
    char temp[64];
    bool temp_exists;
    struct hash hash;
    int64_t bytes;
};

static void writing_done(struct writing *x)
{
    if (x->temp_exists)
        unlinkat(x->place.dir, x->temp, 0);
    fd_closep(&x->fd);
    fd_closep(&x->place.dir);
}

static int look_at_target(struct writing *x, struct err *err)
{
    x->exists = fstatat(x->place.dir, x->place.name, &x->old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!x->exists)
        return errno == ENOENT ? 0 : beneath_errno(err, errno, x->path);
    if (S_ISDIR(x->old.st_mode))
        return beneath_errno(err, EISDIR, x->path);
    if (!S_ISREG(x->old.st_mode))
        return err_set(err, ERR_NOT_A_FILE, "`%s` is not a regular file", x->path);
    if (x->q->create_only)
        return beneath_errno(err, EEXIST, x->path);
    /* Replacing by rename needs no right to the file itself; people expect that it does. */
    if (syscall(SYS_faccessat2, x->place.dir, x->place.name, W_OK,
                AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, x->path);
    return 0;
}

static int make_temp(struct writing *x, struct err *err)
{
    for (int i = 0; i < 16; i++) {
        snprintf(x->temp, sizeof x->temp, OP_TEMP_PREFIX "%.*s-%x", (int)x->q->tag.n, x->q->tag.p,
                 atomic_fetch_add(&temp_counter, 1));
        if (beneath_create(x->place.dir, x->temp, &x->fd) == 0) {
            x->temp_exists = true;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return beneath_errno(err, errno, x->path);
}

static int put(struct writing *x, const char *p, size_t n, struct err *err)
{
    int r = fd_write_all(x->fd, p, n);
    if (r < 0)
        return beneath_errno(err, -r, x->path);
    hash_add(&x->hash, p, n);
    x->bytes += (int64_t)n;
    return 0;
}

/* Its name may have become a link since the place was found. */
static int open_old(const struct writing *x, int *ret_fd, struct stat *ret_stat, struct err *err)
{
    FD_AT_END int fd = beneath_open_child_file(x->place.dir, x->place.name);
    if (fd < 0 && (errno == ELOOP || errno == EINVAL))
        return err_set(err, ERR_CONFLICT, "`%s` has just been replaced: try again", x->path);
    if (fd < 0 || fstat(fd, ret_stat) < 0)
        return beneath_errno(err, errno, x->path);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int copy_old(struct writing *x, struct err *err)
{
    FD_AT_END int old = -1;
    struct stat st = {0};
    if (open_old(x, &old, &st, err) < 0)
        return -1;
    for (int64_t done = 0; done < st.st_size;) {
        if (work_check_cancel(x->w, err) < 0)
            return -1;
        ssize_t n = fd_read_upto(old, x->w->chunk, WORK_CHUNK);
        if (n < 0)
            return beneath_errno(err, (int)-n, x->path);
        if (n == 0)
            break;
        if (put(x, x->w->chunk, (size_t)n, err) < 0)
            return -1;
        done += n;
    }
    return 0;
}

static int check_size(const struct writing *x, size_t bytes, struct err *err)
{
    int64_t before = x->q->append && x->exists ? x->old.st_size : 0;
    int64_t total = before + (int64_t)bytes;
    if (total <= x->q->max_bytes)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "`%s` would have %lld bytes, at most %lld can be written",
                   x->path, (long long)total, (long long)x->q->max_bytes);
}

static int fill_temp(struct writing *x, struct str content, struct err *err)
{
    if (check_size(x, content.n, err) < 0)
        return -1;
    hash_begin(&x->hash);
    if (x->q->append && x->exists && copy_old(x, err) < 0)
        return -1;
    if (put(x, content.p, content.n, err) < 0)
        return -1;
    if (x->exists && fchmod(x->fd, x->old.st_mode & 0777) < 0)
        return beneath_errno(err, errno, x->path);
    if (x->q->fsync && fsync(x->fd) < 0)
        return beneath_errno(err, errno, x->path);
    return 0;
}

int work_not_expected(struct err *err, const char *path, const char *now)
{
    if (!now)
        return err_set(err, ERR_PRECONDITION_FAILED,
                       "`%s` does not exist, so its hash does not match", path);
    return err_set(err, ERR_PRECONDITION_FAILED,
                   "`%s` has changed: its SHA-256 is %s; read it again before writing", path, now);
}

static int check_precondition(struct writing *x, struct err *err)
{
    char now[HASH_HEX + 1];
    FD_AT_END int fd = -1;
    struct stat st = {0};
    if (open_old(x, &fd, &st, err) < 0)
        return err->code == ERR_NOT_FOUND ? work_not_expected(err, x->path, NULL) : -1;
    if (work_hash_file(x->w, fd, st.st_size, x->path, now, err) < 0)
        return -1;
    return hash_hex_equal(x->q->if_match, now) ? 0 : work_not_expected(err, x->path, now);
}

static int rename_temp(struct writing *x, struct err *err)
{
    unsigned flags = x->q->create_only ? RENAME_NOREPLACE : 0;
    if (renameat2(x->place.dir, x->temp, x->place.dir, x->place.name, flags) < 0)
        return beneath_errno(err, errno, x->path);
    x->temp_exists = false;
    return 0;
}

static int commit(struct writing *x, struct err *err)
{
    pthread_mutex_lock(&commit_lock);
    int r = x->q->if_match.p ? check_precondition(x, err) : 0;
    if (r == 0)
        r = rename_temp(x, err);
    pthread_mutex_unlock(&commit_lock);
    if (r == 0 && x->q->fsync) {
        FD_AT_END int dir = beneath_reopen_dir(x->place.dir);
        if (dir < 0 || fsync(dir) < 0)
            return beneath_errno(err, errno, x->path);
    }
    return r;
}

/* With a precondition there must be a file already, so no folder is made for nothing. */
static int find_place(struct writing *x, const struct beneath_root *root, unsigned flags,
                      struct err *err)
{
    bool may_make = !x->q->if_match.p;
    int r = beneath_place(root, x->path, flags | (may_make ? BENEATH_PARENTS : 0), &x->place, err);
    if (r < 0 && !may_make && err->code == ERR_NOT_FOUND)
        return work_not_expected(err, x->path, NULL);
    return r;
}

int work_replace(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
                 struct str content, struct op_write_reply *reply, struct err *err)
{
    CLEANUP(writing_done)
    struct writing x = {.w = w, .q = q, .path = q->path.p, .place.dir = -1, .fd = -1};
    if (find_place(&x, root, 0, err) < 0 || look_at_target(&x, err) < 0 || make_temp(&x, err) < 0 ||
        fill_temp(&x, content, err) < 0 || work_check_cancel(w, err) < 0 || commit(&x, err) < 0)
        return -1;
    hash_end_hex(&x.hash, w->sha256);
    *reply = (struct op_write_reply){x.bytes, {w->sha256, HASH_HEX}, !x.exists};
    return 0;
}

int work_look(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
              size_t bytes, int *ret_fd, struct stat *ret_stat, struct err *err)
{
    CLEANUP(writing_done)
    struct writing x = {.w = w, .q = q, .path = q->path.p, .place.dir = -1, .fd = -1};
    *ret_fd = -1;
    if (find_place(&x, root, BENEATH_LOOK, err) < 0)
        return -1;
    if (x.place.dir < 0)
        return check_size(&x, bytes, err);
    if (look_at_target(&x, err) < 0)
        return -1;
    if (beneath_may_fill(x.place.dir) < 0)
        return beneath_errno(err, errno, x.path);
    if (check_size(&x, bytes, err) < 0)
        return -1;
    if (x.exists)
        return open_old(&x, ret_fd, ret_stat, err);
    return q->if_match.p ? work_not_expected(err, x.path, NULL) : 0;
}

int work_write(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    const struct op_write_request *q = &request->write;
    const struct beneath_root *root = work_writable_root(w, q->root, q->no_links, q->path.p, err);
    return root ? work_replace(w, root, q, body, &reply->write, err) : -1;
}

int work_sweep(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_sweep_request *q = &request->sweep;
    const struct beneath_root *root = work_root(w, q->root, false, err);
    char prefix[64];
    int n = snprintf(prefix, sizeof prefix, OP_TEMP_PREFIX "%.*s-", (int)q->tag.n, q->tag.p);
    CLEANUP(fd_closep) int dir = -1;
    struct beneath_place place = {.dir = -1};
    if (!root || !root->writable)
        return 0;
    /* What a writer left behind is removed wherever it is. */
    struct beneath_root unguarded = *root;
    unguarded.guard = NULL;
    if (beneath_place(&unguarded, q->path.p, 0, &place, err) < 0)
        return -1;
    dir = place.dir;
    FD_AT_END int listing = beneath_reopen_dir(dir);
    if (listing < 0)
        return beneath_errno(err, errno, q->path.p);
    reply->sweep.removed = 0;
    for (ssize_t got; (got = getdents64(listing, w->chunk, WORK_CHUNK)) > 0;) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(w->chunk + at);
            at += d->d_reclen;
            if (strncmp(d->d_name, prefix, (size_t)n) != 0)
                continue;
            int r = work_remove_tree(w, dir, d->d_name, &reply->sweep.removed);
            if (err_is_shortage(-r))
                return beneath_errno(err, -r, q->path.p);
        }
    }
    return 0;
}
