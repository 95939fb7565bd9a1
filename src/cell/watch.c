#include "cell/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

/* More processes are counted but not looked into: a look stays below some 50 ms. */
#define LOOK_MAX 2048
/* Many supplementary groups stand in front of what is read. */
#define STATUS_MAX 8192
/* Seven lines of numbers. */
#define IO_MAX 512
/* Each costs about a millisecond for a gigabyte. */
#define EXACT_MAX 64
/* Less shared memory than this in one process needs no exact count. */
#define SHARED_SMALL (256u << 10)

struct sums {
    uint64_t private, shared_most, shared_all, written, cancelled;
    uint32_t processes, looked;
    pid_t sharing[EXACT_MAX];
    int n_sharing;
};

void watch_init(struct watch *w, int proc_fd, const struct watch_limits *limits)
{
    *w = (struct watch){.proc = proc_fd, .exact_from = limits->memory};
}

void watch_add_tmpfs(struct watch *w, int fd)
{
    if (w->n_tmpfs < WATCH_TMPFS_MAX)
        w->tmpfs[w->n_tmpfs++] = fd;
}

uint64_t watch_field(const char *text, const char *key)
{
    size_t n = strlen(key);
    while (text && strncmp(text, key, n) != 0) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text + n, NULL, 10) : 0;
}

/* False when the process is gone or does not show it. */
static bool read_of(const struct watch *w, const char *pid, const char *file, char *text,
                    size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%.20s/%.20s", pid, file);
    FD_AT_END int fd = openat(w->proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
    return n > 0;
}

/* Deleting what another wrote cancels it, so only the sums over all say something. */
static void add_written(const struct watch *w, const char *pid, struct sums *sums)
{
    char text[IO_MAX];
    if (!read_of(w, pid, "io", text, sizeof text))
        return;
    sums->written += watch_field(text, "write_bytes:");
    sums->cancelled += watch_field(text, "cancelled_write_bytes:");
}

static void look_into(const struct watch *w, const char *pid, struct sums *sums)
{
    char text[STATUS_MAX];
    if (!read_of(w, pid, "status", text, sizeof text)) {
        sums->processes++;
        return;
    }
    uint64_t threads = watch_field(text, "Threads:");
    sums->processes += threads > 1 ? (uint32_t)threads : 1;
    sums->private += (watch_field(text, "RssAnon:") + watch_field(text, "VmSwap:")) << 10;
    uint64_t shared = watch_field(text, "RssShmem:") << 10;
    sums->shared_all += shared;
    if (shared > sums->shared_most)
        sums->shared_most = shared;
    if (shared > SHARED_SMALL && sums->n_sharing < EXACT_MAX)
        sums->sharing[sums->n_sharing++] = (pid_t)strtol(pid, NULL, 10);
    add_written(w, pid, sums);
}

static void look_at_all(const struct watch *w, struct sums *sums)
{
    _Alignas(struct dirent64) char entries[8192];
    char self[16];
    snprintf(self, sizeof self, "%d", (int)getpid());
    lseek(w->proc, 0, SEEK_SET);
    long n;
    while ((n = syscall(SYS_getdents64, w->proc, entries, sizeof entries)) > 0) {
        const struct dirent64 *e;
        for (long at = 0; at < n; at += e->d_reclen) {
            e = (const void *)(entries + at);
            if (e->d_name[0] < '1' || e->d_name[0] > '9' || strcmp(e->d_name, self) == 0)
                continue;
            if (sums->looked++ < LOOK_MAX)
                look_into(w, e->d_name, sums);
            else
                sums->processes++;
        }
    }
}

static uint64_t in_tmpfs(const struct watch *w)
{
    uint64_t used = 0;
    for (int i = 0; i < w->n_tmpfs; i++) {
        struct statfs st;
        if (fstatfs(w->tmpfs[i], &st) == 0 && st.f_blocks > st.f_bfree)
            used += (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
    }
    return used;
}

/* Each page divided by how many map it, so that the sum has it once. */
static uint64_t shared_exactly(const struct watch *w, const struct sums *sums)
{
    char text[STATUS_MAX];
    char pid[16];
    uint64_t shared = 0;
    for (int i = 0; i < sums->n_sharing; i++) {
        snprintf(pid, sizeof pid, "%d", (int)sums->sharing[i]);
        if (read_of(w, pid, "smaps_rollup", text, sizeof text))
            shared += watch_field(text, "Pss_Shmem:") << 10;
    }
    return shared;
}

/* A file in tmpfs may be mapped as well; the larger of the two numbers is certainly used. */
static uint64_t memory_of(const struct watch *w, const struct sums *sums)
{
    uint64_t files = in_tmpfs(w);
    uint64_t shared = files > sums->shared_most ? files : sums->shared_most;
    bool matters = w->exact_from && sums->private + shared <= w->exact_from &&
                   sums->private + files + sums->shared_all > w->exact_from;
    if (matters && sums->n_sharing > 1) {
        uint64_t exactly = shared_exactly(w, sums);
        shared = exactly > shared ? exactly : shared;
    }
    return sums->private + shared;
}

static void take(struct watch *w, struct sums *sums)
{
    w->memory = memory_of(w, sums);
    w->processes = sums->processes;
    if (w->memory > w->memory_peak)
        w->memory_peak = w->memory;
    if (w->processes > w->processes_peak)
        w->processes_peak = w->processes;
    add_written(w, "self", sums);
    if (sums->written > sums->cancelled && sums->written - sums->cancelled > w->written)
        w->written = sums->written - sums->cancelled;
}

/* /proc lists parents first, so a child that is waited for meanwhile is missing rather than counted twice; the next
 * look has it. */
void watch_look(struct watch *w)
{
    struct sums sums = {0};
    look_at_all(w, &sums);
    take(w, &sums);
}

void watch_look_last(struct watch *w)
{
    struct sums sums = {0};
    take(w, &sums);
}

enum watch_limit watch_exceeded(const struct watch *w, const struct watch_limits *limits)
{
    if (limits->memory && w->memory > limits->memory)
        return WATCH_MEMORY;
    if (limits->processes && w->processes > limits->processes)
        return WATCH_PROCESSES;
    if (limits->written && w->written > limits->written)
        return WATCH_WRITTEN;
    return WATCH_OK;
}
