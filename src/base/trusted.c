#include "base/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define LINKS_MAX 40
/* Bytes of a path that a message has room for, twice. */
#define SHOWN 80
/* The kernel's number for users that a user namespace does not know. */
#define OVERFLOW_USER 65534

struct walk {
    int fd; /* where it is; -1 after an error */
    char rest[2 * PATH_MAX];
    unsigned links;
    bool shared; /* others can make files in the folder where it is */
    char *why;
};

static bool is_first_namespace(void)
{
    char text[64] = "";
    unsigned inside = 1;
    unsigned outside = 1;
    unsigned count = 0;
    FD_AT_END int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_upto(fd, text, sizeof text - 1) <= 0)
        return true;
    /* NOLINTNEXTLINE(cert-err34-c): written by the kernel */
    return sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 &&
           outside == 0 && count == UINT_MAX;
}

/* In a user namespace root of the machine has no number of its own. */
static bool is_trusted_owner(uid_t uid)
{
    return uid == 0 || uid == geteuid() || (uid == OVERFLOW_USER && !is_first_namespace());
}

static int refuse_untrusted(const struct walk *w, const char *name, const char *what)
{
    snprintf(w->why, TRUSTED_WHY_MAX, "`%.70s` on the way to it %s", name, what);
    return -EPERM;
}

/* Names the file or folder that is open as `fd`, and what makes it safe. */
static int refuse_writable(const struct walk *w, int fd, const char *name)
{
    char link[64];
    char path[PATH_MAX];
    struct stat st = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (n <= 0 || n > SHOWN || fstat(fd, &st) < 0)
        return refuse_untrusted(w, name, "can be written by others (chmod go-w)");
    const char *who = !(st.st_mode & S_IWOTH)   ? "its group"
                      : !(st.st_mode & S_IWGRP) ? "everybody"
                                                : "its group and everybody";
    snprintf(w->why, TRUSTED_WHY_MAX,
             "`%.*s` (mode %04o, group %u) can be written by %s: chmod go-w %.*s", SHOWN, path,
             (unsigned)st.st_mode & 07777, st.st_gid, who, SHOWN, path);
    return -EPERM;
}

static int check_trusted_entry(const struct walk *w, int fd, const struct stat *st,
                               const char *name)
{
    bool folder = S_ISDIR(st->st_mode);
    bool writable = !S_ISLNK(st->st_mode) && st->st_mode & (S_IWGRP | S_IWOTH);
    if (!is_trusted_owner(st->st_uid))
        return refuse_untrusted(w, name, "belongs to another user");
    if (writable && !(folder && st->st_mode & S_ISVTX))
        return refuse_writable(w, fd, name);
    return !folder && w->shared ? refuse_writable(w, w->fd, name) : 0;
}

static int enter_trusted_entry(struct walk *w, const char *name, struct stat *ret)
{
    int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, ret) < 0 ? -errno : check_trusted_entry(w, fd, ret, name);
    if (r == 0 && S_ISLNK(ret->st_mode)) {
        fd_closep(&fd);
        return 0;
    }
    fd_closep(&w->fd);
    w->fd = fd;
    w->shared = r == 0 && ret->st_mode & (S_IWGRP | S_IWOTH);
    return r;
}

static int follow_trusted_link(struct walk *w, const char *name)
{
    char target[PATH_MAX];
    char rest[sizeof w->rest];
    struct stat st;
    ssize_t n = readlinkat(w->fd, name, target, sizeof target - 1);
    if (n <= 0 || ++w->links > LINKS_MAX)
        return n < 0 ? -errno : -ELOOP;
    target[n] = '\0';
    memcpy(rest, w->rest, sizeof rest);
    if ((size_t)snprintf(w->rest, sizeof w->rest, "%s/%s", target, rest) >= sizeof w->rest)
        return -ENAMETOOLONG;
    return target[0] == '/' ? enter_trusted_entry(w, "/", &st) : 0;
}

/* 1: it was the last one. */
static int step_trusted_path(struct walk *w)
{
    char name[NAME_MAX + 1];
    struct stat st;
    size_t start = strspn(w->rest, "/");
    size_t n = strcspn(w->rest + start, "/");
    if (n == 0)
        return 1;
    if (n > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, w->rest + start, n);
    name[n] = '\0';
    memmove(w->rest, w->rest + start + n, strlen(w->rest + start + n) + 1);
    int r = enter_trusted_entry(w, name, &st);
    return r == 0 && S_ISLNK(st.st_mode) ? follow_trusted_link(w, name) : r;
}

int trusted_open(const char *path, char why[TRUSTED_WHY_MAX])
{
    struct walk w = {.fd = AT_FDCWD, .why = why};
    struct stat st;
    why[0] = '\0';
    if (path[0] != '/')
        return -EINVAL;
    if ((size_t)snprintf(w.rest, sizeof w.rest, "%s", path) >= sizeof w.rest)
        return -ENAMETOOLONG;
    int r = enter_trusted_entry(&w, "/", &st);
    while (r == 0)
        r = step_trusted_path(&w);
    if (r == 1)
        return w.fd;
    if (w.fd >= 0)
        fd_closep(&w.fd);
    return r;
}

int trusted_program(const char *path, char why[TRUSTED_WHY_MAX])
{
    struct stat st;
    FD_AT_END int fd = trusted_open(path, why);
    int r = fd < 0 || fstat(fd, &st) == 0 ? fd : -errno;
    if (r >= 0 && (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)) {
        snprintf(why, TRUSTED_WHY_MAX, "it is no program that can be run: chmod +x it");
        return -EACCES;
    }
    if (r < 0 && !why[0])
        snprintf(why, TRUSTED_WHY_MAX, "%s",
                 path[0] == '/' ? strerror(-r) : "it is not given by its whole path");
    return r < 0 ? r : TAKE_FD(fd);
}
