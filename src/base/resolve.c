#include "base/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define DEPTH_MAX 256
#define LINKS_MAX 40

/* Of a walk: the folders that it is in, the first of which is not its own. */
struct descent {
    int dirs[DEPTH_MAX];
    int depth;
    int links;
    char rest[2 * PATH_MAX];
    char name[NAME_MAX + 1];
    uint64_t resolve;
};

static int resolve_failed(int error)
{
    errno = error;
    return -1;
}

static void climb_to(struct descent *w, int depth)
{
    while (w->depth > depth)
        close(w->dirs[w->depth--]);
}

/* The next name; *ret_last: nothing but slashes follows. -1 with errno; 0: there is none. */
static int take_step_name(struct descent *w, bool *ret_last, bool *ret_slash)
{
    size_t skip = strspn(w->rest, "/");
    size_t n = strcspn(w->rest + skip, "/");
    if (n > NAME_MAX)
        return resolve_failed(ENAMETOOLONG);
    memcpy(w->name, w->rest + skip, n);
    w->name[n] = '\0';
    size_t slashes = strspn(w->rest + skip + n, "/");
    memmove(w->rest, w->rest + skip + n + slashes, strlen(w->rest + skip + n + slashes) + 1);
    *ret_last = w->rest[0] == '\0';
    *ret_slash = slashes > 0;
    return n > 0;
}

/* Puts where the link leads in its place. 0; 1: it is none; -1 with errno. */
static int follow_step_link(struct descent *w)
{
    char target[PATH_MAX];
    char all[sizeof w->rest];
    ssize_t n = readlinkat(w->dirs[w->depth], w->name, target, sizeof target - 1);
    if (n < 0)
        return errno == EINVAL ? 1 : -1;
    target[n] = '\0';
    if (w->resolve & RESOLVE_NO_SYMLINKS || ++w->links > LINKS_MAX)
        return resolve_failed(ELOOP);
    if (target[0] == '/')
        return resolve_failed(EXDEV);
    int length = snprintf(all, sizeof all, "%s%s%s", target, w->rest[0] ? "/" : "", w->rest);
    if (length < 0 || (size_t)length >= sizeof all)
        return resolve_failed(ENAMETOOLONG);
    memcpy(w->rest, all, (size_t)length + 1);
    return 0;
}

static bool is_on_other_mount(int a, int b)
{
    struct statx x;
    struct statx y;
    return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0 ||
           statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) < 0 || x.stx_mnt_id != y.stx_mnt_id;
}

/* The same of one that was opened. */
static int keep_on_mount(const struct descent *w, int fd)
{
    if (fd < 0 || !(w->resolve & RESOLVE_NO_XDEV) || !is_on_other_mount(w->dirs[0], fd))
        return fd;
    close(fd);
    return resolve_failed(EXDEV);
}

/* Into a folder, or along a link in its place. */
static int step_down(struct descent *w)
{
    if (w->depth + 1 == DEPTH_MAX)
        return resolve_failed(ENAMETOOLONG);
    int fd = keep_on_mount(
        w, openat(w->dirs[w->depth], w->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0) {
        w->dirs[++w->depth] = fd;
        return 0;
    }
    if (errno != ENOTDIR)
        return -1;
    int r = follow_step_link(w);
    return r > 0 ? resolve_failed(ENOTDIR) : r;
}

static int open_step_end(struct descent *w, int flags, mode_t mode)
{
    struct stat st;
    int fd = keep_on_mount(w, openat(w->dirs[w->depth], w->name[0] ? w->name : ".",
                                     flags | O_NOFOLLOW | O_CLOEXEC, mode));
    /* One that was put there just now: O_PATH opens the link itself, where others say ELOOP. */
    if (fd < 0 || !(flags & O_PATH) || flags & O_NOFOLLOW || fstat(fd, &st) < 0 ||
        !S_ISLNK(st.st_mode))
        return fd;
    close(fd);
    return resolve_failed(ELOOP);
}

/* One step. 1: *ret_fd is what was asked for; 0: there is more to do. */
static int take_step(struct descent *w, int flags, mode_t mode, int *ret_fd)
{
    bool last;
    bool slash;
    int r = take_step_name(w, &last, &slash);
    if (r < 0)
        return -1;
    if (strcmp(w->name, "..") == 0) {
        if (w->depth == 0)
            return resolve_failed(EXDEV);
        climb_to(w, w->depth - 1);
        w->name[0] = '\0';
    } else if (strcmp(w->name, ".") == 0) {
        w->name[0] = '\0';
    } else if (r > 0 && (!last || slash)) {
        r = step_down(w);
        w->name[0] = '\0';
        if (r < 0)
            return -1;
        last = w->rest[0] == '\0';
    } else if (r > 0 && !(flags & O_NOFOLLOW)) {
        r = follow_step_link(w);
        if (r == 0)
            return 0;
        if (r < 0 && errno != ENOENT)
            return -1;
    }
    if (!last)
        return 0;
    *ret_fd = open_step_end(w, flags, mode);
    return *ret_fd < 0 ? -1 : 1;
}

int resolve_by_names(int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct descent w = {.dirs = {dir}, .resolve = resolve};
    int fd = -1;
    int r = 0;
    if (path[0] == '/')
        return resolve_failed(EXDEV);
    if (path[0] == '\0')
        return resolve_failed(ENOENT);
    if (strlen(path) >= PATH_MAX)
        return resolve_failed(ENAMETOOLONG);
    memcpy(w.rest, path, strlen(path) + 1);
    while (r == 0)
        r = take_step(&w, flags, mode, &fd);
    int error = errno;
    climb_to(&w, 0);
    errno = error;
    return fd;
}

int resolve_open(int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    static atomic_bool absent;
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = mode, .resolve = resolve};
    if (!atomic_load_explicit(&absent, memory_order_relaxed)) {
        int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
        if (fd >= 0 || errno != ENOSYS)
            return fd;
        atomic_store_explicit(&absent, true, memory_order_relaxed);
    }
    return resolve_by_names(dir, path, flags, mode, resolve);
}
