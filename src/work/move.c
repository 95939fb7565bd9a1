#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/work.h"

static int cannot_move(struct err *err, int error, const struct op_move_request *q)
{
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

int work_move(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_move_request *q = &request->move;
    CLEANUP(fd_closep) int from_dir = -1;
    CLEANUP(fd_closep) int to_dir = -1;
    struct beneath_place from = {.dir = -1};
    struct beneath_place to = {.dir = -1};
    struct beneath_real real;
    struct stat st;
    struct stat old;
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    if (!root || beneath_entry(root, q->path.p, &from, &real, err) < 0)
        return -1;
    from_dir = from.dir;
    if (fstatat(from_dir, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, q->path.p);
    if (beneath_judge(root, q->path.p, &real, beneath_kind(st.st_mode), err) < 0)
        return -1;
    if (is_into_itself(q, &st))
        return cannot_move(err, EINVAL, q);
    root = work_writable_root(w, q->to_root, false, q->to.p, err);
    if (!root ||
        beneath_place(root, q->to.p, BENEATH_PARENTS | beneath_kind(st.st_mode), &to, err) < 0)
        return -1;
    to_dir = to.dir;
    bool there = fstatat(to_dir, to.name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT)
        return beneath_errno(err, errno, q->to.p);
    if (there && old.st_dev == st.st_dev && old.st_ino == st.st_ino)
        return err_field(err, "to", "`%s` and `%s` are the same file", q->path.p, q->to.p);
    if (renameat2(from_dir, from.name, to_dir, to.name, q->overwrite ? 0 : RENAME_NOREPLACE) < 0)
        return cannot_move(err, errno, q);
    reply->move = (struct op_move_reply){work_file_type(st.st_mode), there};
    return 0;
}

int work_mkdir(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_mkdir_request *q = &request->mkdir;
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    CLEANUP(fd_closep) int dir = -1;
    FD_AT_END int there = -1;
    struct beneath_place place = {.dir = -1};
    struct stat st;
    struct err unused;
    if (!root)
        return -1;
    reply->mkdir.created = false;
    if (beneath_open(root, q->path.p, O_PATH | O_DIRECTORY, &there, &unused) == 0)
        return 0;
    if (beneath_place(root, q->path.p, BENEATH_PARENTS | BENEATH_FOLDER, &place, err) < 0)
        return -1;
    dir = place.dir;
    reply->mkdir.created = mkdirat(dir, place.name, 0777) == 0;
    if (reply->mkdir.created)
        return 0;
    if (errno != EEXIST)
        return beneath_errno(err, errno, q->path.p);
    /* Another call has just made it. */
    if (fstatat(dir, place.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return err_set(err, ERR_ALREADY_EXISTS, "`%s` exists already and is not a folder", q->path.p);
}
