#include "cell/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define EPOLL_NAME "anon_inode:[eventpoll]"
#define INOTIFY_NAME "anon_inode:inotify"
/* pos, flags, mnt_id and ino stand before the lines of watches. */
#define HEAD_LINES 4

static uint64_t lines_in(const char *text, size_t n)
{
    uint64_t lines = 0;
    for (const char *end = text + n; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* The kernel makes the whole text at once: where it has no memory for that, there are too many. */
static uint64_t watches_of(int proc_fd, const char *pid, const char *number, uint64_t enough)
{
    char path[64];
    char text[16384];
    uint64_t lines = 0;
    ssize_t n = 0;
    snprintf(path, sizeof path, "%.20s/fdinfo/%.20s", pid, number);
    FD_AT_END int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && lines <= enough && (n = read(fd, text, sizeof text)) > 0)
        lines += lines_in(text, (size_t)n);
    if (n < 0 && errno == ENOMEM)
        return enough + 1;
    return lines > HEAD_LINES ? lines - HEAD_LINES : 0;
}

static void count_descriptor(int proc_fd, const char *pid, const char *fd, const char *target,
                             uint64_t enough, struct descriptors *sum)
{
    if (strcmp(target, INOTIFY_NAME) == 0)
        sum->inotify++;
    else if (strcmp(target, EPOLL_NAME) == 0)
        sum->epoll_watches += watches_of(proc_fd, pid, fd, enough);
}

void descriptors_add(int proc_fd, const char *pid, uint64_t enough, struct descriptors *sum)
{
    _Alignas(struct dirent64) char entries[4096];
    char path[64];
    char target[sizeof EPOLL_NAME + 1];
    long n;
    snprintf(path, sizeof path, "%.20s/fd", pid);
    FD_AT_END int links = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (links >= 0 && (n = syscall(SYS_getdents64, links, entries, sizeof entries)) > 0) {
        const struct dirent64 *e;
        for (long at = 0; at < n && sum->epoll_watches <= enough; at += e->d_reclen) {
            e = (const void *)(entries + at);
            ssize_t length = readlinkat(links, e->d_name, target, sizeof target - 1);
            target[length < 0 ? 0 : length] = 0;
            count_descriptor(proc_fd, pid, e->d_name, target, enough, sum);
        }
    }
}
