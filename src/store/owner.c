#include "store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

struct owner {
    long long pid;
    unsigned long long started; /* in ticks since boot */
    char boot[48];
    unsigned long long space; /* the inode of its namespace of process numbers */
};

/* The text without its newline, or -errno. */
static int read_proc_line(const char *path, char *out, size_t room)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -errno : fd_read_upto(fd, out, room - 1);
    if (n < 0)
        return (int)n;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return 0;
}

/* 0, or -errno; -ESRCH for one that is dead and only not yet waited for. */
static int read_stat(const char *path, struct owner *ret)
{
    char text[1024];
    int r = read_proc_line(path, text, sizeof text);
    if (r < 0)
        return r;
    /* The name is the second field and may hold anything. */
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return -EINVAL;
    if (strchr("ZXx", at[2]))
        return -ESRCH;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return -EINVAL;
    ret->pid = strtoll(text, NULL, 10);
    ret->started = strtoull(at, NULL, 10);
    return 0;
}

int owner_self(char out[OWNER_MAX])
{
    struct owner o = {0};
    struct stat st;
    /* The number as /proc has it, which is where others look. */
    int r = read_stat("/proc/self/stat", &o);
    if (r == 0)
        r = read_proc_line("/proc/sys/kernel/random/boot_id", o.boot, sizeof o.boot);
    if (r == 0 && stat("/proc/self/ns/pid", &st) < 0)
        r = -errno;
    if (r < 0)
        return r;
    snprintf(out, OWNER_MAX, "%lld %llu %s %llu", o.pid, o.started, o.boot,
             (unsigned long long)st.st_ino);
    return 0;
}

static bool parse_owner_text(const char *text, struct owner *ret)
{
    char *at;
    ret->pid = strtoll(text, &at, 10);
    if (*at != ' ')
        return false;
    ret->started = strtoull(at, &at, 10);
    size_t n = *at == ' ' ? strcspn(at + 1, " ") : 0;
    if (n == 0 || n >= sizeof ret->boot || at[1 + n] != ' ')
        return false;
    memcpy(ret->boot, at + 1, n);
    ret->boot[n] = '\0';
    at += 1 + n;
    const char *space = at;
    ret->space = strtoull(space, &at, 10);
    return at != space && *at == '\0';
}

bool owner_lives(const char *self, const char *owner)
{
    struct owner us;
    struct owner it;
    struct owner now;
    char path[64];
    if (!parse_owner_text(self, &us) || !parse_owner_text(owner, &it))
        return true;
    if (strcmp(us.boot, it.boot) != 0)
        return false;
    if (us.space != it.space)
        return true;
    snprintf(path, sizeof path, "/proc/%lld/stat", it.pid);
    int r = read_stat(path, &now);
    if (r < 0)
        return r != -ENOENT && r != -ESRCH;
    return now.started == it.started;
}
