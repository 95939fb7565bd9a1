#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/acl.h"
#include "work/folder_lock.h"
#include "work/guard_trees.h"
#include "work/subtree.h"
#include "work/temps.h"
#include "work/to_end.h"

#define TEMP_TRIES 16
/* How often a file may be replaced by others while something is appended to it. */
#define TRIES 32
/* What is done once more from the start, because the file or its folder is not what it was. */
#define AGAIN 1

/* A write on its way: the temporary file lies beside its target until it is renamed onto it. */
struct writing {
    struct work *w;
    const struct op_write_request *q;
    const char *path;
    struct beneath_place place;
    struct beneath_real real;
    struct stat old; /* of the file that is replaced */
    bool exists;
    int fd;
    struct temp temp;
    bool temp_exists;
    struct folder_lock lock;
    bool done;
    struct hash hash;
    int64_t bytes;
};
#define WRITING(w_, q_)                                                                            \
    {                                                                                              \
        .w = (w_), .q = (q_), .path = (q_)->path.p, .place.dir = -1, .fd = -1,                     \
        .lock = FOLDER_LOCK_NONE                                                                   \
    }

static void file_writing_done(struct writing *x)
{
    if (x->temp_exists) {
        unlinkat(x->place.dir, x->temp.name, 0);
        temp_end(&x->temp);
    }
    fd_closep(&x->fd);
    folder_lock_done(&x->lock);
    beneath_place_done(&x->place, x->done);
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
    for (unsigned i = 0; i < TEMP_TRIES; i++) {
        temp_begin(&x->temp, x->place.dir, x->q->tag, TEMP_FILE, i);
        if (beneath_create(x->place.dir, x->temp.name, &x->fd) == 0) {
            x->temp_exists = true;
            return 0;
        }
        temp_end(&x->temp);
        if (errno != EEXIST)
            break;
    }
    /* A call that failed removed the folder, which it had made. */
    return errno == ENOENT ? AGAIN : beneath_errno(err, errno, x->path);
}

static int put_written_bytes(struct writing *x, const char *p, size_t n, struct err *err)
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
        return work_replaced(err, x->path);
    if (fd < 0 || fstat(fd, ret_stat) < 0)
        return beneath_errno(err, errno, x->path);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int copy_old_bytes(void *arg, struct str bytes, struct err *err)
{
    return put_written_bytes(arg, bytes.p, bytes.n, err);
}

static int copy_old(struct writing *x, struct err *err)
{
    FD_AT_END int old = -1;
    struct stat st = {0};
    if (open_old(x, &old, &st, err) < 0)
        return err->code == ERR_NOT_FOUND || err->code == ERR_CONFLICT ? AGAIN : -1;
    int r = work_read_to_end(x->w, old, x->path, x->q->max_bytes, copy_old_bytes, x, err);
    return r <= 0 ? r
                  : err_set(err, ERR_TOO_LARGE,
                            "`%s` has more than the %lld bytes that can be written", x->path,
                            (long long)x->q->max_bytes);
}

static int check_total(const struct writing *x, int64_t before, size_t bytes, struct err *err)
{
    int64_t total = before + (int64_t)bytes;
    if (total <= x->q->max_bytes)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "`%s` would have %lld bytes, at most %lld can be written",
                   x->path, (long long)total, (long long)x->q->max_bytes);
}

static int check_size(const struct writing *x, size_t bytes, struct err *err)
{
    return check_total(x, x->q->append && x->exists ? x->old.st_size : 0, bytes, err);
}

/* That of the file it replaces. */
static int take_mode(const struct writing *x, struct err *err)
{
    mode_t mode = x->old.st_mode & 0777;
    /* What nobody but its owner can use needs no look at its list. */
    FD_AT_END int old = mode & 077 ? beneath_open_child_file(x->place.dir, x->place.name) : -1;
    /* Others would lose their rights for good, for want of a descriptor. */
    if (mode & 077 && old < 0 && err_is_shortage(errno))
        return beneath_errno(err, errno, x->path);
    int r = acl_set_mode(old, x->fd, mode);
    return r < 0 ? beneath_errno(err, -r, x->path) : 0;
}

static int fill_temp(struct writing *x, struct str content, struct err *err)
{
    if (check_size(x, content.n, err) < 0)
        return -1;
    hash_begin(&x->hash);
    int r = x->q->append && x->exists ? copy_old(x, err) : 0;
    if (r != 0)
        return r;
    /* The old file may be longer than it says. */
    if (check_total(x, x->bytes, content.n, err) < 0 ||
        put_written_bytes(x, content.p, content.n, err) < 0)
        return -1;
    if (x->exists && take_mode(x, err) < 0)
        return -1;
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

/* Programs outside do not know our locks; what they changed since it was copied is not to be lost either. */
static bool is_as_copied(const struct writing *x)
{
    struct stat st;
    if (fstatat(x->place.dir, x->place.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return !x->exists && errno == ENOENT;
    return x->exists && st.st_dev == x->old.st_dev && st.st_ino == x->old.st_ino &&
           st.st_size == x->old.st_size && st.st_mtim.tv_sec == x->old.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == x->old.st_mtim.tv_nsec &&
           st.st_ctim.tv_sec == x->old.st_ctim.tv_sec &&
           st.st_ctim.tv_nsec == x->old.st_ctim.tv_nsec;
}

static int rename_temp(struct writing *x, const struct beneath_root *root, struct err *err)
{
    bool first = x->q->append && !x->exists;
    unsigned flags = x->q->create_only || first ? RENAME_NOREPLACE : 0;
    struct stat st;
    bool is_part = beneath_is_git_part(x->place.name) &&
                   fstatat(x->place.dir, x->place.name, &st, AT_SYMLINK_NOFOLLOW) < 0;
    if (renameat2(x->place.dir, x->temp.name, x->place.dir, x->place.name, flags) < 0)
        return first && errno == EEXIST ? AGAIN : beneath_errno(err, errno, x->path);
    x->temp_exists = false;
    temp_end(&x->temp);
    if (is_part && beneath_made_git(root, x->place.dir, x->place.name)) {
        unlinkat(x->place.dir, x->place.name, 0);
        return beneath_refuse_git(x->path, err);
    }
    x->done = true;
    return 0;
}

/* Writing took its time. Whoever moved the folder meanwhile may have moved it to where other rules hold. */
static int rename_if_still(struct writing *x, const struct beneath_root *root, struct err *err)
{
    CLEANUP(guard_trees_release) struct guard_trees *held = NULL;
    if (beneath_hold(x->w, root, x->real.text, &held, err) < 0)
        return -1;
    int r = beneath_still(root, x->path, x->real.text, x->place.dir, 0, err);
    return r == 0 ? rename_temp(x, root, err) : r < 0 ? -1 : AGAIN;
}

static int lock_written_folder(struct writing *x, const struct folder_lock *held, struct err *err)
{
    if (x->lock.mutex[0])
        return 0;
    if (!held)
        return folder_lock_take(x->w, x->place.dir, x->path, &x->lock, err);
    if (folder_lock_holds(held, x->place.dir))
        return 0;
    return work_replaced_folder(err, x->path);
}

static int commit(struct writing *x, const struct beneath_root *root,
                  const struct folder_lock *held, struct err *err)
{
    if (lock_written_folder(x, held, err) < 0 ||
        (x->q->if_match.p && check_precondition(x, err) < 0))
        return -1;
    if (x->q->append && !is_as_copied(x))
        return AGAIN;
    int r = rename_if_still(x, root, err);
    folder_lock_done(&x->lock);
    if (r == 0 && x->q->fsync) {
        FD_AT_END int dir = beneath_reopen_dir(x->place.dir);
        if (dir < 0 || fsync(dir) < 0)
            return beneath_errno(err, errno, x->path);
    }
    return r;
}

/* With a precondition there must be a file already, so no folder is made for nothing. */
static int find_place_to_write(struct writing *x, const struct beneath_root *root, unsigned flags,
                               struct err *err)
{
    bool may_make = !x->q->if_match.p;
    int r = beneath_place_real(root, x->path, flags | (may_make ? BENEATH_PARENTS : 0), &x->place,
                               &x->real, err);
    if (r < 0 && !may_make && err->code == ERR_NOT_FOUND)
        return work_not_expected(err, x->path, NULL);
    return r < 0 ? -1 : work_note_real(x->w, WORK_PATH, x->path, x->real.text, err);
}

/* 0, -1, or AGAIN, when nothing was done. */
static int replace_once(struct writing *x, const struct beneath_root *root, struct str content,
                        const struct folder_lock *held, struct err *err)
{
    if (check_size(x, content.n, err) < 0 || find_place_to_write(x, root, 0, err) < 0)
        return -1;
    /* What is appended to must not change from here on. */
    if (x->q->append && lock_written_folder(x, held, err) < 0)
        return -1;
    if (look_at_target(x, err) < 0)
        return -1;
    int r = make_temp(x, err);
    if (r == 0)
        r = fill_temp(x, content, err);
    if (r == 0)
        r = work_check_cancel(x->w, err);
    return r == 0 ? commit(x, root, held, err) : r;
}

int work_replace(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
                 struct str content, const struct folder_lock *held, struct op_write_reply *reply,
                 struct err *err)
{
    for (int i = 0; i < TRIES; i++) {
        CLEANUP(file_writing_done) struct writing x = WRITING(w, q);
        int r = replace_once(&x, root, content, held, err);
        if (r < 0 || (r == AGAIN && work_check_cancel(w, err) < 0))
            return -1;
        if (r == AGAIN)
            continue;
        hash_end_hex(&x.hash, w->sha256);
        *reply = (struct op_write_reply){
            .bytes = x.bytes, .sha256 = {w->sha256, HASH_HEX}, .created = !x.exists};
        return 0;
    }
    err_set(err, ERR_CONFLICT, "`%s` keeps being changed by others: try again", q->path.p);
    return err_reason(err, "replaced");
}

int work_look(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
              size_t bytes, int *ret_fd, struct stat *ret_stat, struct err *err)
{
    CLEANUP(file_writing_done) struct writing x = WRITING(w, q);
    *ret_fd = -1;
    if (check_size(&x, bytes, err) < 0 || find_place_to_write(&x, root, BENEATH_LOOK, err) < 0)
        return -1;
    if (x.place.dir < 0)
        return 0;
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
    return root ? work_replace(w, root, q, body, NULL, &reply->write, err) : -1;
}

/* Of what has such a name, only what a writer leaves behind: a file, or a folder that was being removed. */
static bool is_left_over(int dir, const char *name, struct str tag)
{
    struct stat st;
    if (!temp_is_named(name, tag, TEMP_FILE) && !temp_is_named(name, tag, TEMP_FOLDER))
        return false;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return (S_ISREG(st.st_mode) && temp_is_named(name, tag, TEMP_FILE)) ||
           (S_ISDIR(st.st_mode) && temp_is_named(name, tag, TEMP_FOLDER));
}

/* A folder that was being removed can be found by commands, and something that is guarded be moved into it. */
static int sweep_one(struct work *w, int dir, const char *path, const char *name, int64_t *removed)
{
    CLEANUP(subtree_done) struct subtree rules;
    subtree_init(&rules, &w->at, path, NULL);
    subtree_leave(&rules);
    subtree_enter(&rules, name);
    return work_remove_tree(w, dir, name, &rules, removed);
}

int work_sweep(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_sweep_request *q = &request->sweep;
    const struct beneath_root *root = work_root(w, q->root, false, err);
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
    ssize_t got;
    while ((got = getdents64(listing, w->chunk, WORK_CHUNK)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(w->chunk + at);
            at += d->d_reclen;
            if (!is_left_over(dir, d->d_name, q->tag))
                continue;
            int r = sweep_one(w, dir, q->path.p, d->d_name, &reply->sweep.removed);
            if (err_is_shortage(-r))
                return beneath_errno(err, -r, q->path.p);
        }
    }
    return got < 0 ? beneath_errno(err, errno, q->path.p) : 0;
}
