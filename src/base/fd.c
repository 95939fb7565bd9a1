#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/resolve.h"

void fd_closep(int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
    *fd = -1;
}

int fd_write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

ssize_t fd_read_upto(int fd, void *bytes, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = read(fd, (char *)bytes + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

int fd_open_plain(int dir, const char *name, int flags)
{
    struct stat st;
    const int always = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    FD_AT_END int fd = openat(dir, name, flags | always, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return TAKE_FD(fd);
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return -1;
}

bool fd_is_special(int error)
{
    return error == EINVAL || error == EISDIR || error == ELOOP || error == ENXIO ||
           error == ENODEV;
}

int fd_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    return resolve_open(dir, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

bool fd_same_file(int a, int b)
{
    struct stat x;
    struct stat y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

DIR *fd_list(int dir)
{
    FD_AT_END int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (list)
        copy = -1;
    return list;
}

struct dirent *fd_list_next(DIR *list, int *error)
{
    errno = 0;
    struct dirent *d = readdir(list);
    if (!d && errno)
        *error = errno;
    return d;
}

int fd_set_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

bool fd_has_room(unsigned n)
{
    struct rlimit files;
    FD_AT_END int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (lowest < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
        return false;
    return files.rlim_cur == RLIM_INFINITY || (rlim_t)lowest + n <= files.rlim_cur;
}
