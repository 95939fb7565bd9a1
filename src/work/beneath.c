#include "work/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

#define LINKS_MAX 40  /* as the kernel's own limit */
#define DEPTH_MAX 256 /* folders open at once while walking */
#define RETRIES 32
#define SHOWN 120

static int open_at(int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC |
                                      (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK)),
        .mode = mode,
        .resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static int link_errno(struct err *err, int error, int n, const char *path)
{
    switch (error) {
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

int beneath_errno(struct err *err, int error, const char *path)
{
    int n = (int)utf8_cut(path, strnlen(path, SHOWN));
    switch (error) {
    case ENOENT:
        return err_set(err, ERR_NOT_FOUND, "`%.*s` does not exist", n, path);
    case ENOTDIR:
        return err_set(err, ERR_NOT_A_DIRECTORY, "`%.*s`: a part of the path is not a folder", n,
                       path);
    case EISDIR:
        return err_set(err, ERR_NOT_A_FILE, "`%.*s` is a folder, not a file", n, path);
    case ENXIO:
    case ENODEV:
        return err_set(err, ERR_NOT_A_FILE, "`%.*s` is a socket or device, not a file", n, path);
    case EEXIST:
        return err_set(err, ERR_ALREADY_EXISTS, "`%.*s` exists already", n, path);
    case EACCES:
    case EPERM:
        return err_set(err, ERR_PERMISSION_DENIED, "no permission for `%.*s`", n, path);
    case EROFS:
        err_set(err, ERR_READ_ONLY, "`%.*s` is in a part that cannot be written", n, path);
        return err_reason(err, "read_only");
    case ENOSPC:
    case EDQUOT:
        return err_set(err, ERR_DISK_FULL, "no space left for `%.*s`; nothing was changed", n,
                       path);
    case EFBIG:
        return err_set(err, ERR_TOO_LARGE, "`%.*s` would be larger than files may be", n, path);
    case E2BIG:
        return err_field(err, "path", "`%.*s` has more than %d folders in one another", n, path,
                         DEPTH_MAX - 2);
    case ENAMETOOLONG:
        return err_field(err, "path", "a name in `%.*s` is too long", n, path);
    case ELOOP:
    case EMLINK:
    case EXDEV:
        return link_errno(err, error, n, path);
    case EBUSY:
        err_set(err, ERR_READ_ONLY, "`%.*s` is or holds a folder that is kept in its place", n,
                path);
        return err_reason(err, "read_only");
    case ENOTEMPTY:
        err_set(err, ERR_CONFLICT, "the folder `%.*s` is not empty", n, path);
        return err_reason(err, "not_empty");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return err_set(err, ERR_SESSION_BUSY, "the cell is out of resources (%s); try again",
                       strerror(error));
    default:
        return err_set(err, ERR_INTERNAL, "`%.*s`: %s", n, path, strerror(error));
    }
}

/* A walk by hand, for what one openat2 cannot answer: absolute links that point inside, folders to
 * be made, the place behind a dangling link. `..` goes back along folders already open. */
struct walk {
    const struct beneath_root *root;
    bool make_parents;
    int dirs[DEPTH_MAX];
    int depth;                    /* dirs[0] is the root's own descriptor */
    char rest[2 * PATH_TEXT_MAX]; /* still to be walked */
    char name[PATH_NAME_MAX + 1]; /* component at hand */
    int links;
};

static void pop_to(struct walk *w, int depth)
{
    while (w->depth > depth)
        close(w->dirs[w->depth--]);
}

static void walk_done(struct walk *w)
{
    pop_to(w, 0);
}

/* Takes the next component into w->name; 0 at the end, 1, or -errno. *ret_last: nothing follows. */
static int next_name(struct walk *w, bool *ret_last)
{
    char *at = w->rest;
    while (*at == '/')
        at++;
    size_t n = strcspn(at, "/");
    if (n == 0)
        return 0;
    if (n > PATH_NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(w->name, at, n);
    w->name[n] = '\0';
    at += n;
    while (*at == '/')
        at++;
    *ret_last = *at == '\0';
    memmove(w->rest, at, strlen(at) + 1);
    return 1;
}

/* Puts the link's target before what is still to be walked. */
static int follow(struct walk *w, int link)
{
    char target[PATH_TEXT_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target);
    if (n < 0)
        return -errno;
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    struct str text = {target, (size_t)n};
    if (n > 0 && target[0] == '/') {
        const char *prefix = path_beneath(text, w->root->inside) ? w->root->inside : w->root->host;
        if (!path_beneath(text, prefix))
            return -EXDEV;
        text.p += path_prefix_length(prefix);
        text.n -= path_prefix_length(prefix);
        pop_to(w, 0);
    }
    size_t left = strlen(w->rest);
    if (text.n + 1 + left >= sizeof w->rest)
        return -ENAMETOOLONG;
    memmove(w->rest + text.n + 1, w->rest, left + 1);
    memcpy(w->rest, text.p, text.n);
    w->rest[text.n] = '/';
    return 0;
}

static int enter(struct walk *w, int *fd)
{
    if (w->depth + 1 >= DEPTH_MAX)
        return -E2BIG;
    w->dirs[++w->depth] = TAKE_FD(*fd);
    return 0;
}

static int make_and_enter(struct walk *w)
{
    int parent = w->dirs[w->depth];
    if (mkdirat(parent, w->name, 0777) < 0 && errno != EEXIST)
        return -errno;
    FD_AT_END int fd = open_at(parent, w->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0,
                               RESOLVE_NO_SYMLINKS);
    return fd < 0 ? -errno : enter(w, &fd);
}

/* One component. 1: it was the last one, w->name stands in w->dirs[w->depth]; 0: go on. */
static int step(struct walk *w, bool last)
{
    if (strcmp(w->name, ".") == 0)
        return 0;
    if (strcmp(w->name, "..") == 0) {
        if (w->depth == 0)
            return -EXDEV;
        pop_to(w, w->depth - 1);
        return 0;
    }
    FD_AT_END int fd = open_at(w->dirs[w->depth], w->name, O_PATH | O_NOFOLLOW, 0, 0);
    if (fd < 0 && errno == ENOENT && last)
        return 1;
    if (fd < 0 && errno == ENOENT && w->make_parents)
        return make_and_enter(w);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return w->root->no_links ? -EMLINK : follow(w, fd);
    if (last)
        return 1;
    return S_ISDIR(st.st_mode) ? enter(w, &fd) : -ENOTDIR;
}

static int count_slashes(const char *path)
{
    int count = 0;
    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* Leaves the place in w; w->name is "." when the path leads to a folder by `..` or the root. */
static int walk_to(struct walk *w, const struct beneath_root *root, const char *path, bool make)
{
    w->root = root;
    w->make_parents = make;
    w->dirs[0] = root->fd;
    w->depth = 0;
    w->links = 0;
    snprintf(w->rest, sizeof w->rest, "%s", path);
    /* Before the first of too many folders is made. */
    if (make && count_slashes(path) >= DEPTH_MAX - 2)
        return -E2BIG;
    for (;;) {
        bool last = false;
        int r = next_name(w, &last);
        if (r > 0)
            r = step(w, last);
        else if (r == 0) {
            memcpy(w->name, ".", 2);
            return 0;
        }
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

static int open_by_walk(const struct beneath_root *root, const char *path, int flags)
{
    for (int i = 0; i < RETRIES; i++) {
        struct walk w;
        int r = walk_to(&w, root, path, false);
        if (r == 0) {
            r = open_at(w.dirs[w.depth], w.name, flags | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
            struct stat st;
            if (r < 0)
                r = -errno;
            else if ((flags & O_PATH) && fstat(r, &st) == 0 && S_ISLNK(st.st_mode)) {
                /* O_PATH opens the link itself, where others say ELOOP. */
                close(r);
                r = -ELOOP;
            }
        }
        walk_done(&w);
        /* The name became a link after it was looked at: look again. */
        if (r != -ELOOP || w.links > LINKS_MAX)
            return r;
    }
    return -ELOOP;
}

static int open_any(const struct beneath_root *root, const char *path, int flags)
{
    int fd = -1;
    for (int i = 0; i < RETRIES; i++) {
        fd = open_at(root->fd, path, flags, 0, root->no_links ? RESOLVE_NO_SYMLINKS : 0);
        /* The kernel could not tell whether `..` stayed inside during a rename elsewhere. */
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    if (fd >= 0)
        return fd;
    if (errno == ELOOP && root->no_links)
        return -EMLINK;
    return errno == EXDEV || errno == EAGAIN ? open_by_walk(root, path, flags) : -errno;
}

int beneath_open(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                 struct err *err)
{
    int fd = open_any(root, path, flags);
    if (fd < 0)
        return beneath_errno(err, -fd, path);
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

int beneath_open_file(const struct beneath_root *root, const char *path, int *ret_fd,
                      struct stat *ret_stat, struct err *err)
{
    FD_AT_END int fd = open_any(root, path, O_RDONLY);
    if (fd == -EACCES || fd == -EPERM || fd == -ENXIO || fd == -ENODEV) {
        /* A device on a nodev mount gives EACCES, a socket ENXIO: say what it is. */
        FD_AT_END int look = open_any(root, path, O_PATH);
        if (look >= 0 && fstat(look, ret_stat) == 0 && !S_ISREG(ret_stat->st_mode) &&
            !S_ISDIR(ret_stat->st_mode)) {
            fd = -1;
            return not_regular(err, ret_stat->st_mode, path);
        }
    }
    if (fd < 0) {
        int error = -fd;
        fd = -1;
        return beneath_errno(err, error, path);
    }
    if (fstat(fd, ret_stat) < 0)
        return beneath_errno(err, errno, path);
    if (!S_ISREG(ret_stat->st_mode))
        return not_regular(err, ret_stat->st_mode, path);
    *ret_fd = TAKE_FD(fd);
    return 0;
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

static int place_by_walk(const struct beneath_root *root, const char *path, bool make_parents,
                         struct beneath_place *ret, struct err *err)
{
    struct walk w;
    int r = walk_to(&w, root, path, make_parents);
    int dir = -1;
    if (r == 0) {
        dir = fcntl(w.dirs[w.depth], F_DUPFD_CLOEXEC, 0);
        r = dir < 0 ? -errno : 0;
    }
    walk_done(&w);
    if (r == 0 && strcmp(w.name, ".") == 0) {
        close(dir);
        r = -EISDIR;
    }
    if (r < 0)
        return beneath_errno(err, -r, path);
    ret->dir = dir;
    snprintf(ret->name, sizeof ret->name, "%s", w.name);
    return 0;
}

int beneath_place(const struct beneath_root *root, const char *path, bool make_parents,
                  struct beneath_place *ret, struct err *err)
{
    char parent[PATH_TEXT_MAX];
    if (split(path, parent, ret->name)) {
        FD_AT_END int dir = open_at(root->fd, parent, O_PATH | O_DIRECTORY, 0,
                                    root->no_links ? RESOLVE_NO_SYMLINKS : 0);
        struct stat st;
        bool missing = dir >= 0 && fstatat(dir, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0;
        if (dir >= 0 && (missing ? errno == ENOENT : !S_ISLNK(st.st_mode))) {
            ret->dir = TAKE_FD(dir);
            return 0;
        }
    }
    return place_by_walk(root, path, make_parents, ret, err);
}

int beneath_entry(const struct beneath_root *root, const char *path, struct beneath_place *ret,
                  struct err *err)
{
    char parent[PATH_TEXT_MAX];
    if (!split(path, parent, ret->name))
        return err_field(err, "path", "`%.*s` names a folder by dots: give its own name",
                         (int)utf8_cut(path, strnlen(path, SHOWN)), path);
    return beneath_open(root, parent, O_PATH | O_DIRECTORY, &ret->dir, err);
}

int beneath_open_child(int dir, const char *name)
{
    return open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
}

int beneath_open_child_any(int dir, const char *name)
{
    return open_at(dir, name, O_RDONLY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
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
    int fd = open_at(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666,
                     RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return -1;
    *ret_fd = fd;
    return 0;
}

int beneath_reopen_dir(int dir)
{
    return open_at(dir, ".", O_RDONLY | O_DIRECTORY, 0, 0);
}
