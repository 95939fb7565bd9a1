#include "session/process_group.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

#define STAT_BYTES 1024
#define BOOT_FILE "/proc/sys/kernel/random/boot_id"

/* Since the machine began, in the unit of /proc. */
static long long now_ticks(void)
{
    struct timespec at;
    clock_gettime(CLOCK_BOOTTIME, &at);
    long hertz = sysconf(_SC_CLK_TCK);
    return (long long)at.tv_sec * hertz + at.tv_nsec * hertz / 1000000000;
}

void process_group_write(pid_t group, char text[PROCESS_GROUP_TEXT])
{
    memset(text, 0, PROCESS_GROUP_TEXT);
    snprintf(text, PROCESS_GROUP_TEXT, "%d %lld\n", (int)group, now_ticks());
}

void process_group_boot(char out[PROCESS_GROUP_BOOT])
{
    FD_AT_END int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_upto(fd, out, PROCESS_GROUP_BOOT) != PROCESS_GROUP_BOOT)
        memset(out, 0, PROCESS_GROUP_BOOT);
}

/* Zombies have ended: where nobody waits for them they stay for ever. What there are no descriptors or no memory to look at
 * may be one of them. */
static bool is_living_member(const char *pid, int group, long long noted)
{
    char path[64];
    char text[STAT_BYTES];
    char state = 'X';
    int found = 0;
    long long began = 0;
    snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -errno : fd_read_upto(fd, text, sizeof text - 1);
    if (n <= 0)
        return n < 0 && err_is_shortage((int)-n);
    text[n] = '\0';
    /* The name before it can hold anything. */
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1,
                        " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                        "%*d %lld",
                        &state, &found, &began) != 3)
        return false;
    return found == group && began <= noted && state != 'Z' && state != 'X';
}

bool process_group_lives(const char *text)
{
    int group = 0;
    long long noted = 0;
    if (sscanf(text, "%d %lld", &group, &noted) != 2 || group <= 1 ||
        (kill(-group, 0) < 0 && errno == ESRCH))
        return false;
    DIR *proc = opendir("/proc");
    bool found = !proc;
    int unread = 0;
    for (struct dirent *d; proc && !found && (d = fd_list_next(proc, &unread));)
        found = isdigit((unsigned char)d->d_name[0]) && is_living_member(d->d_name, group, noted);
    if (proc)
        closedir(proc);
    return found || unread;
}
