#include "work/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "work/beneath_walk.h"

#define RETRIES 32
#define SHOWN 120

static int link_errno(struct err *err, int error, int n, const char *path)
{
    switch (error) {
    case ENOLINK:
        err_set(err, ERR_NOT_FOUND, "`%.*s` does not exist: a symbolic link leads to nothing", n,
                path);
        return err_reason(err, "link_dangling");
    case ELOOP:
        err_set(err, ERR_NOT_FOUND, "`%.*s` leads through too many symbolic links", n, path);
        return err_reason(err, "link_loop");
    case EMLINK:
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` leads through a symbolic link, which is not followed here: "
                "tools.filesystem.followSymlinks is false, or only a part of the folder is allowed",
                n, path);
        return err_reason(err, "symlink_not_followed");
    default: /* EXDEV */
        err_set(err, ERR_SYMLINK_OUTSIDE_WORKSPACE,
                "`%.*s` leads out of the workspace through a symbolic link", n, path);
        return err_reason(err, "symlink_outside");
    }
}

bool beneath_is_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESTALE;
}

/* The message is: `before`, the path, `after`. */
static const struct {
    int error;
    enum err_code code;
    const char *before;
    const char *after;
    const char *reason; /* NULL: that of the code */
} messages[] = {
    {ENOENT, ERR_NOT_FOUND, "", " does not exist", NULL},
    {ENOTDIR, ERR_NOT_A_DIRECTORY, "", ": a part of the path is not a folder", NULL},
    {EISDIR, ERR_NOT_A_FILE, "", " is a folder, not a file", NULL},
    {ENXIO, ERR_NOT_A_FILE, "", " is a socket or device, not a file", NULL},
    {ENODEV, ERR_NOT_A_FILE, "", " is a socket or device, not a file", NULL},
    {EEXIST, ERR_ALREADY_EXISTS, "", " exists already", NULL},
    {EOVERFLOW, ERR_PERMISSION_DENIED, "no permission for ",
     ": it belongs to a user or group that the sandbox does not have", NULL},
    {EACCES, ERR_PERMISSION_DENIED, "no permission for ", "", NULL},
    {EPERM, ERR_PERMISSION_DENIED, "no permission for ", "", NULL},
    {EROFS, ERR_READ_ONLY, "", " is in a part that cannot be written", "read_only"},
    {ENOSPC, ERR_DISK_FULL, "no space left for ", "; nothing was changed", NULL},
    {EDQUOT, ERR_DISK_FULL, "no space left for ", "; nothing was changed", NULL},
    {EFBIG, ERR_DISK_FULL, "",
     " would be larger than files may be (RLIMIT_FSIZE, `ulimit -f`); nothing was changed", NULL},
    {EBUSY, ERR_READ_ONLY, "", " is or holds a folder that is kept in its place", "read_only"},
    {ESTALE, ERR_CONFLICT, "the folder of ", " keeps being moved: try again", "moved"},
    {ENOTEMPTY, ERR_CONFLICT, "the folder ", " is not empty", "not_empty"},
};

static int shortage_errno(struct err *err, int error, int n, const char *path)
{
    err_set(err, ERR_SESSION_BUSY,
            "the cell is out of resources at `%.*s` (%s); try again when less runs, ask for "
            "less at once, or raise the limit of open files (ulimit -n)",
            n, path, strerror(error));
    return err_reason(err, "no_resources");
}

int beneath_errno(struct err *err, int error, const char *path)
{
    if (!path[0])
        path = "."; /* the root itself */
    int n = (int)utf8_cut(path, strnlen(path, SHOWN));
    if (error == ENOLINK || error == ELOOP || error == EMLINK || error == EXDEV)
        return link_errno(err, error, n, path);
    if (error == E2BIG)
        return err_field(err, "path", "`%.*s` has more than %d folders in one another", n, path,
                         BENEATH_DEPTH_MAX - 2);
    if (error == ENAMETOOLONG)
        return err_field(err, "path", "a name in `%.*s` is too long", n, path);
    if (error == EAGAIN) {
        err_set(err, ERR_SESSION_BUSY,
                "`%.*s` cannot be opened now: another program holds a lease on it (F_SETLEASE), or "
                "folders on the way keep being renamed; try again",
                n, path);
        return err_reason(err, "file_busy");
    }
    if (err_is_shortage(error) || error == EINTR)
        return shortage_errno(err, error, n, path);
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (messages[i].error != error)
            continue;
        err_set(err, messages[i].code, "%s`%.*s`%s", messages[i].before, n, path,
                messages[i].after);
        return messages[i].reason ? err_reason(err, messages[i].reason) : -1;
    }
    return err_set(err, ERR_INTERNAL, "`%.*s`: %s", n, path, strerror(error));
}

static int open_by_walk(const struct beneath_root *root, const char *path, int flags,
                        struct beneath_real *real)
{
    for (int i = 0; i < RETRIES; i++) {
        struct beneath_walk w;
        int r = beneath_walk_to(&w, root, path, 0, real);
        if (r == 0) {
            r = beneath_open_at(w.dirs[w.depth], w.name, flags | O_NOFOLLOW, 0,
                                RESOLVE_NO_SYMLINKS);
            struct stat st;
            if (r < 0)
                r = -errno;
            else if ((flags & O_PATH) && fstat(r, &st) == 0 && S_ISLNK(st.st_mode)) {
                /* O_PATH opens the link itself, where others say ELOOP. */
                close(r);
                r = -ELOOP;
            }
        }
        beneath_walk_done(&w);
        if (r == -ENOENT && beneath_walk_from_link(&w))
            r = -ENOLINK;
        /* The name became a link after it was looked at: look again. */
        if (r != -ELOOP || w.links > BENEATH_LINKS_MAX)
            return r;
    }
    return -ELOOP;
}

/* Names with single slashes between them: what is opened by it without a link is that very path. */
static bool is_plain_path(const char *path)
{
    if (*path == '\0' || strcmp(path, ".") == 0)
        return true;
    for (;;) {
        size_t n = strcspn(path, "/");
        if (n == 0 || (path[0] == '.' && (n == 1 || (n == 2 && path[1] == '.'))))
            return false;
        if (path[n] == '\0')
            return true;
        path += n + 1;
    }
}

/* One call where there is no link on the way, and then `path` is the real one. */
static int open_any(const struct beneath_root *root, const char *path, int flags,
                    struct beneath_real *real)
{
    bool plain = is_plain_path(path);
    if (!plain && root->as_named)
        return -EMLINK;
    if (plain) {
        int fd = beneath_open_at(root->fd, path, flags, 0, RESOLVE_NO_SYMLINKS);
        real->text = path;
        real->link_verdict = GUARD_OPEN;
        if (fd >= 0)
            return fd;
        if (errno == ELOOP && (root->no_links || root->as_named))
            return -EMLINK;
        if (errno != ELOOP && errno != EAGAIN && errno != EINTR)
            return -errno;
    }
    return open_by_walk(root, path, flags, real);
}

/* Then no path in it says anything about itself. */
static bool is_closed(const struct beneath_root *root)
{
    return syscall(SYS_faccessat2, root->fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
           errno == EACCES;
}

static int tell_path_error(const struct beneath_root *root, const char *path, int error,
                           struct err *err)
{
    if (error == EMLINK && root->as_named && !root->no_links)
        return beneath_refuse_other(root, path, err);
    if (error == EACCES && is_closed(root)) {
        err_set(err, ERR_PERMISSION_DENIED,
                "no permission to look into the session's folder itself: its mode does not allow "
                "it; `chmod u+rwx` on it helps");
        return err_reason(err, "closed_folder");
    }
    return beneath_errno(err, error, path);
}

int beneath_open(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                 struct err *err)
{
    struct beneath_real real;
    return beneath_open_real(root, path, flags, ret_fd, &real, err);
}

int beneath_open_real(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                      struct beneath_real *ret_real, struct err *err)
{
    int fd = open_any(root, path, flags, ret_real);
    if (fd < 0)
        return tell_path_error(root, path, -fd, err);
    *ret_fd = fd;
    return 0;
}

static int not_regular(struct err *err, mode_t mode, const char *path)
{
    if (S_ISDIR(mode))
        return beneath_errno(err, EISDIR, path);
    return err_set(err, ERR_NOT_A_FILE, "`%.*s` is %s, not a file", SHOWN, path,
                   S_ISFIFO(mode)   ? "a FIFO"
                   : S_ISSOCK(mode) ? "a socket"
                                    : "a device");
}

/* A device on a nodev mount gives EACCES, a socket ENXIO: says what it is. */
static int cannot_open(const struct beneath_root *root, const char *path, int error,
                       struct err *err)
{
    struct beneath_real real;
    struct stat st;
    if (error == EACCES || error == EPERM || error == ENXIO || error == ENODEV) {
        FD_AT_END int look = open_any(root, path, O_PATH, &real);
        if (look >= 0 && fstat(look, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return not_regular(err, st.st_mode, path);
    }
    return tell_path_error(root, path, error, err);
}

static int open_regular_file(const struct beneath_root *root, const char *path, unsigned flags,
                             int *ret_fd, struct stat *ret_stat, struct err *err)
{
    struct beneath_real real;
    int opened = open_any(root, path, O_RDONLY, &real);
    if (opened < 0)
        return cannot_open(root, path, -opened, err);
    FD_AT_END int fd = opened;
    if (fstat(fd, ret_stat) < 0)
        return beneath_errno(err, errno, path);
    if (!S_ISREG(ret_stat->st_mode))
        return not_regular(err, ret_stat->st_mode, path);
    if (beneath_is_refused(root, &real, -1, flags))
        return beneath_refuse(&real, path, err);
    if (beneath_still_file(root, path, real.text, fd, flags, err) < 0)
        return -1;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int beneath_open_file(const struct beneath_root *root, const char *path, int *ret_fd,
                      struct stat *ret_stat, struct err *err)
{
    return open_regular_file(root, path, BENEATH_ONLY_READ, ret_fd, ret_stat, err);
}

int beneath_open_to_change(const struct beneath_root *root, const char *path, int *ret_fd,
                           struct stat *ret_stat, struct err *err)
{
    return open_regular_file(root, path, 0, ret_fd, ret_stat, err);
}

/* Splits at the last slash; the parent of a plain name is the root. */
static bool split(const char *path, char parent[PATH_TEXT_MAX], char name[PATH_NAME_MAX + 1])
{
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    if (strlen(last) > PATH_NAME_MAX || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return false;
    snprintf(parent, PATH_TEXT_MAX, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    snprintf(name, PATH_NAME_MAX + 1, "%s", last);
    return true;
}

int beneath_is_link(const struct beneath_root *root, const char *path, bool *ret, struct err *err)
{
    char parent[PATH_TEXT_MAX];
    char name[PATH_NAME_MAX + 1];
    *ret = false;
    if (!split(path, parent, name))
        return 0;
    FD_AT_END int dir = -1;
    if (beneath_open(root, parent, O_PATH | O_DIRECTORY, &dir, err) < 0)
        return -1;
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, path);
    *ret = S_ISLNK(st.st_mode);
    return 0;
}

/* Behind the real path of a folder that was walked to. */
static int add_to_real_path(struct beneath_real *real, const char *name)
{
    size_t n = strcmp(real->buffer, ".") == 0 ? 0 : strlen(real->buffer);
    if (n + strlen(name) + 2 > sizeof real->buffer)
        return -1;
    snprintf(real->buffer + n, sizeof real->buffer - n, "%s%s", n ? "/" : "", name);
    return 0;
}

/* Leaves in `ret` which folders the walk made. */
static int note_made(const struct beneath_walk *w, struct beneath_place *ret)
{
    const char *text = w->real->buffer + w->made_at + (w->made_at > 0);
    size_t n = w->length - w->made_at - (w->made_at > 0);
    if (n >= sizeof ret->made)
        return -ENAMETOOLONG;
    ret->made_in = fcntl(w->dirs[w->made_from - 1], F_DUPFD_CLOEXEC, 0);
    if (ret->made_in < 0)
        return -errno;
    memcpy(ret->made, text, n);
    ret->made[n] = '\0';
    return 0;
}

static int try_walk(const struct beneath_root *root, const char *path, unsigned flags,
                    struct beneath_place *ret, struct beneath_real *real, bool *ret_refused)
{
    struct beneath_walk w;
    int r = beneath_walk_to(&w, root, path, flags, real);
    bool named = r == 0 && strcmp(w.name, ".") != 0;
    *ret_refused = r < 0 ? w.refused
                         : beneath_is_refused(root, real, named ? w.dirs[w.depth] : -1, flags);
    if (r == 0 && !*ret_refused && real->moved)
        r = -ESTALE;
    FD_AT_END int dir = -1;
    if (r == 0 && !named)
        r = -EISDIR;
    if (r == 0 && !*ret_refused) {
        dir = fcntl(w.dirs[w.depth], F_DUPFD_CLOEXEC, 0);
        r = dir < 0 ? -errno : w.made_from ? note_made(&w, ret) : 0;
    }
    if (r < 0 || *ret_refused)
        beneath_walk_unmake(&w);
    beneath_walk_done(&w);
    if (r == 0 && !*ret_refused) {
        ret->dir = TAKE_FD(dir);
        snprintf(ret->name, sizeof ret->name, "%s", w.name);
    }
    return r;
}

static int place_by_walk(const struct beneath_root *root, const char *path, unsigned flags,
                         struct beneath_place *ret, struct beneath_real *real, struct err *err)
{
    bool refused = false;
    bool makes = flags & BENEATH_PARENTS && !(flags & BENEATH_LOOK);
    int r = 0;
    if (root->as_named && !is_plain_path(path))
        return tell_path_error(root, path, EMLINK, err);
    for (int i = 0; i < RETRIES; i++) {
        r = try_walk(root, path, flags, ret, real, &refused);
        /* Another call that failed removed a folder that it had made: it is made again. */
        if (refused || !(r == -ESTALE || (r == -ENOENT && makes)))
            break;
    }
    if (refused)
        return beneath_refuse(real, path, err);
    if (r == -ENOENT && flags & BENEATH_LOOK && flags & BENEATH_PARENTS) {
        ret->dir = -1;
        return 0;
    }
    return r < 0 ? tell_path_error(root, path, -r, err) : 0;
}

/* The last of the folders in `path` beneath `dir`, unless something is in it by now. */
static int remove_last(int dir, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return unlinkat(dir, path, AT_REMOVEDIR);
    char parent[PATH_TEXT_MAX];
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    FD_AT_END int fd = beneath_open_at(dir, parent, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
    return fd < 0 ? -1 : unlinkat(fd, slash + 1, AT_REMOVEDIR);
}

void beneath_place_done(struct beneath_place *place, bool used)
{
    fd_closep(&place->dir);
    if (!place->made[0])
        return;
    while (!used && place->made[0] && remove_last(place->made_in, place->made) == 0) {
        char *slash = strrchr(place->made, '/');
        *(slash ? slash : place->made) = '\0';
    }
    place->made[0] = '\0';
    fd_closep(&place->made_in);
}

int beneath_place(const struct beneath_root *root, const char *path, unsigned flags,
                  struct beneath_place *ret, struct err *err)
{
    struct beneath_real real;
    return beneath_place_real(root, path, flags, ret, &real, err);
}

int beneath_place_real(const struct beneath_root *root, const char *path, unsigned flags,
                       struct beneath_place *ret, struct beneath_real *ret_real, struct err *err)
{
    char parent[PATH_TEXT_MAX];
    ret->made[0] = '\0';
    if (is_plain_path(path) && split(path, parent, ret->name)) {
        FD_AT_END int dir = beneath_open_at(root->fd, parent, O_PATH | O_DIRECTORY, 0,
                                            RESOLVE_NO_SYMLINKS);
        struct stat st;
        bool missing = dir >= 0 && fstatat(dir, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0;
        if (dir >= 0 && (missing ? errno == ENOENT : !S_ISLNK(st.st_mode))) {
            ret_real->text = path;
            ret_real->link_verdict = GUARD_OPEN;
            if (beneath_is_refused(root, ret_real, dir, flags))
                return beneath_refuse(ret_real, path, err);
            if (!ret_real->moved) {
                ret->dir = TAKE_FD(dir);
                return 0;
            }
        }
    }
    return place_by_walk(root, path, flags, ret, ret_real, err);
}

int beneath_entry(const struct beneath_root *root, const char *path, struct beneath_place *ret,
                  struct beneath_real *ret_real, struct err *err)
{
    char parent[PATH_TEXT_MAX];
    ret->made[0] = '\0';
    if (!split(path, parent, ret->name))
        return err_field(err, "path", "`%.*s` names a folder by dots: give its own name",
                         (int)utf8_cut(path, strnlen(path, SHOWN)), path);
    FD_AT_END int dir = -1;
    struct beneath_root around = *root;
    around.behind = ret->name;
    if (beneath_open_real(&around, parent, O_PATH | O_DIRECTORY, &dir, ret_real, err) < 0)
        return -1;
    if (ret_real->text == parent)
        ret_real->text = path;
    else if (add_to_real_path(ret_real, ret->name) < 0)
        return beneath_errno(err, ENAMETOOLONG, path);
    ret->dir = TAKE_FD(dir);
    return 0;
}

int beneath_open_child(int dir, const char *name)
{
    return beneath_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
}

int beneath_open_child_here(int dir, const char *name)
{
    return beneath_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                           RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

int beneath_open_child_any(int dir, const char *name)
{
    return beneath_open_at(dir, name, O_RDONLY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
}

int beneath_open_child_file(int dir, const char *name)
{
    struct stat st;
    FD_AT_END int fd = beneath_open_child_any(dir, name);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return TAKE_FD(fd);
}

int beneath_create(int dir, const char *name, int *ret_fd)
{
    int fd = beneath_open_at(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666,
                             RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return -1;
    *ret_fd = fd;
    return 0;
}

int beneath_may_fill(int dir)
{
    return (int)syscall(SYS_faccessat2, dir, ".", W_OK | X_OK, AT_EACCESS);
}

int beneath_reopen_dir(int dir)
{
    return beneath_open_at(dir, ".", O_RDONLY | O_DIRECTORY, 0, 0);
}
