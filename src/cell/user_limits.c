#include "cell/user_limits.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

static const struct {
    const char *of_user;
    const char *of_namespace;
    uint64_t most;
} shared[] = {
    {"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances",
     USER_LIMITS_INOTIFY},
    {"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches", UINT64_MAX},
};

/* Three quarters: the worker watches a workspace's folders with the same ones. */
static uint64_t part_of(const char *path)
{
    char text[32];
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    return strtoull(text, NULL, 10) / 4 * 3;
}

void user_limits_set(void)
{
    char text[32];
    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        uint64_t part = part_of(shared[i].of_user);
        if (part > shared[i].most)
            part = shared[i].most;
        FD_AT_END int fd = part ? open(shared[i].of_namespace, O_WRONLY | O_CLOEXEC) : -1;
        int n = snprintf(text, sizeof text, "%llu", (unsigned long long)part);
        if (fd >= 0)
            (void)fd_write_all(fd, text, (size_t)n);
    }
}
