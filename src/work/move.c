#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/folder_lock.h"
#include "work/guard_trees.h"
#include "work/work.h"

#define TRIES 8

static int cannot_move(struct err *err, int error, const struct beneath_root *root,
                       const struct op_move_request *q)
{
    if (error == EXDEV && root->layered && q->root == q->to_root)
        return err_field(err, "path",
                         "`%s` is a folder of the project, and the overlay of this session cannot "
                         "rename such a folder: a command can copy it and delete it (`mv` does)",
                         q->path.p);
    if (error == EINVAL)
        return err_field(err, "to",
                         "`%s` lies in `%s` itself: a folder cannot be moved into itself", q->to.p,
                         q->path.p);
    if (error == EXDEV)
        return err_field(err, "to",
                         "`%s` is on another file system: write the file there and delete this one",
                         q->to.p);
    if (error == EISDIR || error == ENOTDIR)
        return err_set(
            err, ERR_ALREADY_EXISTS,
            "`%s` is there already and not of the same kind: a file cannot take the place "
            "of a folder, nor the other way round",
            q->to.p);
    return beneath_errno(
        err, error, error == ENOENT || error == EACCES || error == EPERM ? q->path.p : q->to.p);
}

/* As far as the texts tell: known before folders are made for nothing. */
static bool is_into_itself(const struct op_move_request *q, const struct stat *st)
{
    return S_ISDIR(st->st_mode) && q->root == q->to_root && path_beneath(q->to, q->path.p) &&
           q->to.n > q->path.n && !strstr(q->to.p, "..");
}

/* The entry that is moved, and what it is. from->dir is open on success. */
static int find_moved_entry(struct work *w, const struct op_move_request *q,
                            struct beneath_place *from, struct beneath_real *ret_real,
                            struct stat *ret_stat, struct err *err)
{
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    if (!root || beneath_entry(root, q->path.p, from, ret_real, err) < 0)
        return -1;
    FD_AT_END int dir = TAKE_FD(from->dir);
    if (fstatat(dir, from->name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, q->path.p);
    if (beneath_judge(root, q->path.p, ret_real, beneath_kind(ret_stat->st_mode), err) < 0 ||
        work_note_real(w, WORK_PATH, q->path.p, ret_real->text, err) < 0)
        return -1;
    from->dir = TAKE_FD(dir);
    return 0;
}

static void add_identity(struct hash *hash, const struct stat *st)
{
    const int64_t of_file[] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    const uint64_t of_any[] = {st->st_mode & S_IFMT, st->st_dev, st->st_ino};
    hash_add(hash, of_any, sizeof of_any);
    /* What is in a folder may change. */
    if (!S_ISDIR(st->st_mode))
        hash_add(hash, of_file, sizeof of_file);
}

/* Tells apart what is at both ends of a move; `to` is NULL where nothing is. */
static void hash_ends(const struct stat *from, const struct stat *to, char out[HASH_HEX + 1])
{
    struct hash hash;
    hash_begin(&hash);
    add_identity(&hash, from);
    if (to)
        add_identity(&hash, to);
    hash_end_hex(&hash, out);
}

static int check_ends(const struct op_move_request *q, const struct stat *from,
                      const struct stat *to, struct err *err)
{
    char now[HASH_HEX + 1];
    hash_ends(from, to, now);
    if (!q->expected.p || hash_hex_equal(q->expected, now))
        return 0;
    return err_set(
        err, ERR_CONFLICT,
        "what is at `%s` or at `%s` is not what it was when the user was asked about this "
        "call: nothing was moved",
        q->path.p, q->to.p);
}

static int check_moved(const struct beneath_root *root, const struct op_move_request *q,
                       const struct beneath_place *from, const struct beneath_place *to,
                       struct err *err)
{
    if (!beneath_made_git(root, to->dir, to->name))
        return 0;
    if (renameat2(to->dir, to->name, from->dir, from->name, RENAME_NOREPLACE) < 0)
        return beneath_errno(err, errno, q->path.p);
    return beneath_refuse_git(q->to.p, err);
}

/* Both were judged before this call waited for their folders. 1: that of `to` was moved. */
static int check_move_places(struct work *w, const struct beneath_root *root,
                             const struct op_move_request *q, const struct beneath_place *from,
                             const struct beneath_place *to, const struct tree_op *op,
                             unsigned flags, struct guard_trees **held, struct err *err)
{
    if (beneath_hold(w, op->root, op->real, held, err) < 0 ||
        beneath_hold(w, root, op->to, held, err) < 0)
        return -1;
    int r = beneath_still(op->root, q->path.p, op->real, from->dir, flags, err);
    if (r > 0)
        return work_replaced_folder(err, q->path.p);
    return r < 0 ? -1 : beneath_still(root, q->to.p, op->to, to->dir, 0, err);
}

/* 0, -1, or 1 when the folder that it was to go to is gone or was moved. */
static int move_to(struct work *w, const struct beneath_root *root, const struct op_move_request *q,
                   const struct beneath_place *from, const struct beneath_place *to,
                   const struct tree_op *op, const struct stat *st, bool *ret_there,
                   struct err *err)
{
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    struct stat now;
    struct stat old;
    if (folder_lock_take_two(w, from->dir, to->dir, q->to.p, &lock, err) < 0)
        return -1;
    /* Another call may have moved it, or replaced it, while this one waited. */
    if (fstatat(from->dir, from->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return cannot_move(err, errno, root, q);
    if ((now.st_mode & S_IFMT) != (st->st_mode & S_IFMT))
        return work_replaced(err, q->path.p);
    *ret_there = fstatat(to->dir, to->name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*ret_there && errno != ENOENT)
        return beneath_errno(err, errno, q->to.p);
    if (*ret_there && old.st_dev == now.st_dev && old.st_ino == now.st_ino)
        return err_field(err, "to", "`%s` and `%s` are the same file", q->path.p, q->to.p);
    if (check_ends(q, &now, *ret_there ? &old : NULL, err) < 0)
        return -1;
    /* What appears from now on was not asked about either. */
    unsigned flags = q->overwrite && !(q->expected.p && !*ret_there) ? 0 : RENAME_NOREPLACE;
    CLEANUP(guard_trees_release) struct guard_trees *still = NULL;
    if (S_ISDIR(now.st_mode) && guard_trees_hold(w, &still, err) < 0)
        return -1;
    int moved = check_move_places(w, root, q, from, to, op, beneath_kind(now.st_mode), &still, err);
    if (moved != 0)
        return moved;
    if (renameat2(from->dir, from->name, to->dir, to->name, flags) == 0)
        return *ret_there ? 0 : check_moved(root, q, from, to, err);
    int error = errno;
    if (error == ENOENT && fstatat(from->dir, from->name, &old, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    return cannot_move(err, error, root, q);
}

/* What is guarded in a folder has to be so at the new place, and what is not must not become so. */
static int check_moved_folder(struct work *w, const struct beneath_place *from,
                              const struct tree_op *op, const struct stat *st, struct err *err)
{
    if (!S_ISDIR(st->st_mode))
        return 0;
    work_slow(w);
    return work_check_tree(w, from, op, err);
}

int work_move(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_move_request *q = &request->move;
    BENEATH_PLACE_AT_END struct beneath_place from = {.dir = -1};
    struct beneath_place to = {.dir = -1};
    struct beneath_real real;
    struct beneath_real to_real;
    struct stat st;
    bool there = false;
    if (find_moved_entry(w, q, &from, &real, &st, err) < 0)
        return -1;
    if (is_into_itself(q, &st))
        return cannot_move(err, EINVAL, &w->at, q);
    const struct beneath_root from_root = w->at;
    const struct beneath_root *root = work_writable_root(w, q->to_root, false, q->to.p, err);
    unsigned flags = BENEATH_PARENTS | beneath_kind(st.st_mode);
    int r = root ? 1 : -1;
    /* A call that failed may have removed a folder that it had made, and that was used here. */
    for (int i = 0; r > 0 && i < TRIES; i++) {
        if (beneath_place_real(root, q->to.p, flags, &to, &to_real, err) < 0)
            return -1;
        const struct tree_op op = {&from_root, q->path.p, real.text, root, to_real.text};
        r = work_note_real(w, WORK_TO, q->to.p, to_real.text, err);
        if (r == 0)
            r = check_moved_folder(w, &from, &op, &st, err);
        if (r == 0)
            r = move_to(w, root, q, &from, &to, &op, &st, &there, err);
        beneath_place_done(&to, r == 0);
    }
    if (r != 0)
        return r < 0 ? -1 : beneath_errno(err, ENOENT, q->to.p);
    reply->move = (struct op_move_reply){.type = work_file_type(st.st_mode), .replaced = there};
    return 0;
}

static void take_type(const struct stat *st, struct op_preview_reply *reply)
{
    reply->exists = true;
    reply->type = work_file_type(st->st_mode);
    reply->bytes_before = S_ISREG(st->st_mode) ? st->st_size : 0;
}

int work_look_move(struct work *w, const struct op_move_request *q, struct op_preview_reply *reply,
                   struct err *err)
{
    BENEATH_PLACE_AT_END struct beneath_place from = {.dir = -1};
    BENEATH_PLACE_AT_END struct beneath_place to = {.dir = -1};
    struct beneath_real real;
    struct beneath_real to_real;
    struct stat st;
    struct stat old;
    if (find_moved_entry(w, q, &from, &real, &st, err) < 0)
        return -1;
    if (is_into_itself(q, &st))
        return cannot_move(err, EINVAL, &w->at, q);
    const struct beneath_root from_root = w->at;
    const struct beneath_root *root = work_writable_root(w, q->to_root, false, q->to.p, err);
    unsigned flags = BENEATH_PARENTS | BENEATH_LOOK | beneath_kind(st.st_mode);
    if (!root || beneath_place_real(root, q->to.p, flags, &to, &to_real, err) < 0 ||
        work_note_real(w, WORK_TO, q->to.p, to_real.text, err) < 0)
        return -1;
    const struct tree_op op = {&from_root, q->path.p, real.text, root, to_real.text};
    if (check_moved_folder(w, &from, &op, &st, err) < 0)
        return -1;
    bool there = to.dir >= 0 && fstatat(to.dir, to.name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !q->overwrite)
        return beneath_errno(err, EEXIST, q->to.p);
    if (there)
        take_type(&old, reply);
    hash_ends(&st, there ? &old : NULL, w->sha256_before);
    reply->sha256_before = (struct str){w->sha256_before, HASH_HEX};
    reply->moved = work_file_type(st.st_mode);
    reply->bytes_after = S_ISREG(st.st_mode) ? st.st_size : 0;
    return 0;
}

/* 0, -1, or 1 when the folder that it was to be made in is gone or was moved. */
static int make_new_folder(struct work *w, const struct beneath_root *root,
                           const struct op_mkdir_request *q, const struct beneath_place *place,
                           const char *real, bool *ret_created, struct err *err)
{
    struct stat st;
    CLEANUP(guard_trees_release) struct guard_trees *held = NULL;
    if (beneath_hold(w, root, real, &held, err) < 0)
        return -1;
    int r = beneath_still(root, q->path.p, real, place->dir, 0, err);
    if (r != 0)
        return r;
    *ret_created = mkdirat(place->dir, place->name, 0777) == 0;
    if (*ret_created && beneath_made_git(root, place->dir, place->name)) {
        unlinkat(place->dir, place->name, AT_REMOVEDIR);
        return beneath_refuse_git(q->path.p, err);
    }
    if (*ret_created)
        return 0;
    if (errno != EEXIST)
        return errno == ENOENT ? 1 : beneath_errno(err, errno, q->path.p);
    /* Another call has just made it. */
    if (fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return err_set(err, ERR_ALREADY_EXISTS, "`%s` exists already and is not a folder", q->path.p);
}

int work_mkdir(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_mkdir_request *q = &request->mkdir;
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    FD_AT_END int there = -1;
    struct beneath_place place = {.dir = -1};
    struct beneath_real real;
    struct err unused;
    if (!root)
        return -1;
    reply->mkdir.created = false;
    if (beneath_open(root, q->path.p, O_PATH | O_DIRECTORY, &there, &unused) == 0)
        return 0;
    int r = 1;
    for (int i = 0; r > 0 && i < TRIES; i++) {
        if (beneath_place_real(root, q->path.p, BENEATH_PARENTS | BENEATH_FOLDER, &place, &real,
                               err) < 0)
            return -1;
        r = work_note_real(w, WORK_PATH, q->path.p, real.text, err);
        if (r == 0)
            r = make_new_folder(w, root, q, &place, real.text, &reply->mkdir.created, err);
        beneath_place_done(&place, r == 0);
    }
    return r > 0 ? beneath_errno(err, ENOENT, q->path.p) : r;
}

int work_look_mkdir(struct work *w, const struct op_mkdir_request *q,
                    struct op_preview_reply *reply, struct err *err)
{
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    FD_AT_END int there = -1;
    BENEATH_PLACE_AT_END struct beneath_place place = {.dir = -1};
    struct beneath_real real;
    struct err unused;
    unsigned flags = BENEATH_PARENTS | BENEATH_FOLDER | BENEATH_LOOK;
    if (!root)
        return -1;
    reply->type = TYPE_DIRECTORY;
    reply->exists = beneath_open_real(root, q->path.p, O_PATH | O_DIRECTORY, &there, &real,
                                      &unused) == 0;
    if (!reply->exists && beneath_place_real(root, q->path.p, flags, &place, &real, err) < 0)
        return -1;
    return work_note_real(w, WORK_PATH, q->path.p, real.text, err);
}
