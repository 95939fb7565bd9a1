#include "cell/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/descriptors.h"
#include "cell/held.h"
#include "cell/user_limits.h"

/* More processes are counted but not looked into: a look stays below some 50 ms. */
#define LOOK_MAX 2048
/* Many supplementary groups stand in front of what is read. */
#define STATUS_MAX 8192
/* Seven lines of numbers. */
#define IO_MAX 512
#define TID_MAX 16
/* Each costs about a millisecond for a gigabyte. */
#define EXACT_MAX 256
/* Less memory than this in one process needs no exact count. */
#define SHARED_SMALL (256u << 10)
#define ANON_SMALL (1u << 20)
/* What the kernel holds for each: a stack and a task; an open file; a pipe's pages. Beyond fs.pipe-user-pages-soft, 64 MiB
 * for all of a user, a pipe has two. The number of descriptors is not told, only that of slots for them. */
#define THREAD_BYTES (24u << 10)
#define SLOT_BYTES 1024u
#define SLOTS_USUAL 256u
#define PIPE_BYTES 8192u
/* A file in an epoll set. */
#define EPOLL_WATCH_BYTES 200u
/* All processes of a user share fs.epoll.max_user_watches: the part of it that one command may have. */
#define EPOLL_PART 4
/* Events that nobody reads: 16,384 (fs.inotify.max_queued_events) with long names. How many there are is told nowhere. */
#define INOTIFY_BYTES (8u << 20)

/* An inode of a tmpfs with its name; an attribute takes as many as it has KiB (Linux 6.6, before which there are none). */
#define INODE_BYTES 1024u
/* A mapping, by its numbers in the kernel. They are counted in processes that are large enough to have many. */
#define MAPPING_BYTES 200u
#define MAPPINGS_FROM (32u << 20)
/* In one look, which takes some 40 ms then; the other processes are taken to have as many on average. */
#define MAPPINGS_MAX 150000u
/* Looks, a tenth of a second each. */
#define PROGRAM_PATIENCE 5

/* Processes of which an exact count may be needed. */
struct exact {
    pid_t pid[EXACT_MAX];
    int n;
};

struct sums {
    uint64_t private, shared_most, shared_all, written, cancelled;
    uint64_t anon_listed; /* of `private`, in the processes of `forked`: what a fork shares */
    uint64_t mappings;
    struct descriptors descriptors;
    uint32_t processes, looked, mapped, unmapped;
    struct exact sharing, forked;
};

void watch_init(struct watch *w, int proc_fd, const struct watch_limits *limits)
{
    *w = (struct watch){.proc = proc_fd,
                        .exact_from = limits->memory,
                        .buffers_enough = limits->buffers,
                        .sockets = -1};
}

void watch_add_tmpfs(struct watch *w, int fd)
{
    if (w->n_tmpfs < WATCH_TMPFS_MAX)
        w->tmpfs[w->n_tmpfs++] = fd;
}

void watch_add_descriptors(struct watch *w)
{
    char text[32];
    if (w->descriptors || !w->exact_from)
        return;
    w->descriptors = true;
    w->epoll_max = w->exact_from / EPOLL_WATCH_BYTES;
    FD_AT_END int fd = openat(w->proc, "sys/fs/epoll/max_user_watches", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    uint64_t part = strtoull(text, NULL, 10) / EPOLL_PART;
    if (part && part < w->epoll_max)
        w->epoll_max = part;
}

void watch_add_allocated(struct watch *w, uint64_t bytes)
{
    w->allocated = bytes < UINT64_MAX - w->allocated ? w->allocated + bytes : UINT64_MAX;
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

/* The kernel gives the files of a process that is not dumpable to root. It becomes so by executing a program that it
 * may not read; the filter lets none choose it (PR_SET_DUMPABLE). One that is ending looks the same, and has no memory
 * any more. */
static bool hides_its_files(const struct watch *w, const char *pid)
{
    char path[64];
    char text[STATUS_MAX];
    snprintf(path, sizeof path, "%.20s/io", pid);
    return faccessat(w->proc, path, R_OK, 0) < 0 && errno == EACCES &&
           read_of(w, pid, "status", text, sizeof text) && strstr(text, "\nVmSize:");
}

void watch_add_program(struct watch *w, int pid)
{
    w->program = pid;
    w->patience = PROGRAM_PATIENCE;
}

static bool is_being_loaded(struct watch *w, int pid)
{
    return pid == w->program && w->patience > 0 && w->patience-- > 0;
}

/* Deleting what another wrote cancels it, so only the sums over all say something. */
static void add_written(struct watch *w, const char *pid, struct sums *sums)
{
    char text[IO_MAX];
    if (!read_of(w, pid, "io", text, sizeof text)) {
        int number = (int)strtol(pid, NULL, 10);
        if (hides_its_files(w, pid) && !is_being_loaded(w, number) && kill(number, SIGKILL) == 0)
            w->hidden++;
        return;
    }
    sums->written += watch_field(text, "write_bytes:");
    sums->cancelled += watch_field(text, "cancelled_write_bytes:");
}

/* This process is not dumpable, so that its own file in /proc is closed to itself. The kernel keeps the same number, in
 * blocks of 512 bytes, for all whom it waited for and whom these waited for. */
static void add_written_by_ended(struct sums *sums)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
        sums->written += (uint64_t)usage.ru_oublock * 512;
}

static uint64_t held_for(const char *status, uint64_t threads)
{
    uint64_t slots = watch_field(status, "FDSize:");
    uint64_t many = slots > SLOTS_USUAL ? slots - SLOTS_USUAL : 0;
    uint64_t tables = watch_field(status, "VmPTE:") + watch_field(status, "HugetlbPages:");
    return (tables << 10) + threads * THREAD_BYTES + (slots - many) * SLOT_BYTES +
           many * PIPE_BYTES;
}

static bool is_process_number(const char *name)
{
    return name[0] >= '1' && name[0] <= '9';
}

/* A process whose first thread has ended shows its memory and descriptors in the files of another thread, which /proc
 * has under that thread's number without listing it. True: `text` is the status of thread `ret_tid`. */
static bool read_other_thread(const struct watch *w, const char *pid, char ret_tid[TID_MAX],
                              char *text, size_t size)
{
    _Alignas(struct dirent64) char entries[2048];
    char path[64];
    long n;
    snprintf(path, sizeof path, "%.20s/task", pid);
    FD_AT_END int tasks = openat(w->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (tasks >= 0 && (n = syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0) {
        const struct dirent64 *e;
        for (long at = 0; at < n; at += e->d_reclen) {
            e = (const void *)(entries + at);
            if (!is_process_number(e->d_name) || strcmp(e->d_name, pid) == 0)
                continue;
            snprintf(ret_tid, TID_MAX, "%.15s", e->d_name);
            if (read_of(w, ret_tid, "status", text, size) && strstr(text, "\nVmSize:"))
                return true;
        }
    }
    return false;
}

static void add_exact_process(struct exact *list, const char *tid)
{
    list->pid[list->n++] = (pid_t)strtol(tid, NULL, 10);
}

static void add_mappings(const struct watch *w, const char *tid, const char *status,
                         struct sums *sums)
{
    char text[4096];
    char path[64];
    if (!w->exact_from || watch_field(status, "VmSize:") << 10 < MAPPINGS_FROM)
        return;
    if (sums->mappings > MAPPINGS_MAX) {
        sums->unmapped++;
        return;
    }
    sums->mapped++;
    snprintf(path, sizeof path, "%.20s/maps", tid);
    FD_AT_END int fd = openat(w->proc, path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, text, sizeof text)) > 0;) {
        const char *end = text + n;
        for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
            sums->mappings++;
    }
}

static uint64_t of_mappings(const struct sums *sums)
{
    uint64_t others = sums->mapped ? sums->mappings / sums->mapped * sums->unmapped : 0;
    return (sums->mappings + others) * MAPPING_BYTES;
}

/* Of the process by the status of one of its threads, and that thread's number. */
static void add_memory(struct watch *w, const char *tid, const char *status, struct sums *sums)
{
    uint64_t anon = (watch_field(status, "RssAnon:") + watch_field(status, "VmSwap:")) << 10;
    sums->private += anon;
    if (anon > ANON_SMALL && sums->forked.n < EXACT_MAX) {
        add_exact_process(&sums->forked, tid);
        sums->anon_listed += anon;
    }
    add_mappings(w, tid, status, sums);
    if (w->exact_from)
        sums->private += held_for(status, watch_field(status, "Threads:"));
    uint64_t shared = watch_field(status, "RssShmem:") << 10;
    sums->shared_all += shared;
    if (shared > sums->shared_most)
        sums->shared_most = shared;
    if (shared > SHARED_SMALL && sums->sharing.n < EXACT_MAX)
        add_exact_process(&sums->sharing, tid);
    if (w->descriptors)
        descriptors_add(w->proc, tid, w->epoll_max, &sums->descriptors);
}

static void look_into_process(struct watch *w, const char *pid, struct sums *sums)
{
    char text[STATUS_MAX];
    char tid[TID_MAX];
    if (!read_of(w, pid, "status", text, sizeof text)) {
        sums->processes++;
        return;
    }
    uint64_t threads = watch_field(text, "Threads:");
    sums->processes += threads > 1 ? (uint32_t)threads : 1;
    if (threads > 1 && !strstr(text, "\nVmSize:") &&
        read_other_thread(w, pid, tid, text, sizeof text))
        add_memory(w, tid, text, sums);
    else
        add_memory(w, pid, text, sums);
    add_written(w, pid, sums);
}

static void look_at_all(struct watch *w, struct sums *sums)
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
            if (!is_process_number(e->d_name) || strcmp(e->d_name, self) == 0)
                continue;
            if (sums->looked++ < LOOK_MAX)
                look_into_process(w, e->d_name, sums);
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
        if (fstatfs(w->tmpfs[i], &st) < 0)
            continue;
        if (st.f_blocks > st.f_bfree)
            used += (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
        if (st.f_files > st.f_ffree)
            used += (uint64_t)(st.f_files - st.f_ffree) * INODE_BYTES;
    }
    return used;
}

/* Each page divided by how many map it, so that the sum has it once. Whoever is not in the list is not in the sum. */
static uint64_t exactly(const struct watch *w, const struct exact *list, const char *const keys[2])
{
    char text[STATUS_MAX];
    char pid[16];
    uint64_t sum = 0;
    for (int i = 0; i < list->n; i++) {
        snprintf(pid, sizeof pid, "%d", (int)list->pid[i]);
        if (read_of(w, pid, "smaps_rollup", text, sizeof text))
            sum += (watch_field(text, keys[0]) + watch_field(text, keys[1])) << 10;
    }
    return sum;
}

/* A file in tmpfs or a System V segment may be mapped as well; the larger of the two numbers is certainly used. */
static uint64_t memory_of(const struct watch *w, const struct sums *sums)
{
    static const char *const keys[] = {"Pss_Shmem:", "-"};
    uint64_t files = in_tmpfs(w) + (w->exact_from ? held_by_ipc(w->proc, sums->processes) : 0);
    uint64_t shared = files > sums->shared_most ? files : sums->shared_most;
    bool matters = w->exact_from && sums->private + shared <= w->exact_from &&
                   sums->private + files + sums->shared_all > w->exact_from;
    if (matters && sums->sharing.n > 1) {
        uint64_t exact = exactly(w, &sums->sharing, keys);
        shared = exact > shared ? exact : shared;
    }
    return sums->private + shared;
}

/* After a fork both processes have all pages in their numbers. Counting them once takes longer, so it is done where it
 * decides: over the limit, and for a peak that is an eighth above what was counted for the last one. */
static bool needs_exact_private(const struct watch *w, const struct sums *sums, uint64_t memory)
{
    bool over = w->exact_from && memory + w->reserved > w->exact_from;
    bool peak = memory > w->memory_peak && memory > w->rough_peak + w->rough_peak / 8;
    return sums->forked.n > 1 && (over || peak);
}

static void take_memory(struct watch *w, struct sums *sums)
{
    static const char *const keys[] = {"Pss_Anon:", "SwapPss:"};
    w->memory = memory_of(w, sums);
    if (needs_exact_private(w, sums, w->memory)) {
        w->rough_peak = w->memory > w->rough_peak ? w->memory : w->rough_peak;
        uint64_t exact = exactly(w, &sums->forked, keys);
        if (exact && exact < sums->anon_listed) {
            sums->private -= sums->anon_listed - exact;
            w->memory = memory_of(w, sums);
        }
    } else if (sums->forked.n > 1 && w->memory <= w->rough_peak + w->rough_peak / 8) {
        return; /* no higher than what was counted exactly, as far as a rough number tells */
    }
    if (w->memory > w->memory_peak)
        w->memory_peak = w->memory;
}

static void take_watch_sums(struct watch *w, struct sums *sums)
{
    take_memory(w, sums);
    w->processes = sums->processes;
    if (w->processes > w->processes_peak)
        w->processes_peak = w->processes;
    if (sums->written > sums->cancelled && sums->written - sums->cancelled > w->written)
        w->written = sums->written - sums->cancelled;
}

/* /proc lists parents first, so a child that is waited for meanwhile is missing rather than counted twice; the next
 * look has it. */
void watch_look(struct watch *w)
{
    struct sums sums = {0};
    look_at_all(w, &sums);
    if (w->buffers_enough && !held_by_sockets(w->sockets, w->proc, w->buffers_enough, &w->buffers))
        w->uncounted = true;
    sums.private += w->exact_from ? w->buffers : 0;
    sums.private += sums.descriptors.epoll_watches * EPOLL_WATCH_BYTES + of_mappings(&sums);
    w->epoll_watches = sums.descriptors.epoll_watches;
    uint64_t queues = sums.descriptors.inotify;
    w->reserved = (queues < USER_LIMITS_INOTIFY ? queues : USER_LIMITS_INOTIFY) * INOTIFY_BYTES;
    add_written_by_ended(&sums);
    take_watch_sums(w, &sums);
}

void watch_look_last(struct watch *w)
{
    struct sums sums = {0};
    add_written_by_ended(&sums);
    take_watch_sums(w, &sums);
}

enum watch_limit watch_exceeded(const struct watch *w, const struct watch_limits *limits)
{
    if ((limits->memory && w->memory + w->reserved > limits->memory) ||
        (limits->buffers && w->buffers > limits->buffers) || w->epoll_watches > w->epoll_max)
        return WATCH_MEMORY;
    if (limits->processes && w->processes > limits->processes)
        return WATCH_PROCESSES;
    if (limits->written &&
        (w->written > limits->written || w->allocated > limits->written - w->written))
        return WATCH_WRITTEN;
    return WATCH_OK;
}
