#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/limits_parts.h"

#define CPU_PERIOD_US 100000u
/* Processes that are killed at once; who is left is found by looking again. */
#define KILL_BYTES (32u << 10)

static int open_limit_file(const struct limits_tree *t, const struct limit_group *g,
                           const char *file, int flags)
{
    char path[LIMIT_NAME_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", g->name, file);
    return openat(t->dir, path, flags | O_CLOEXEC);
}

static int put_limit(const struct limits_tree *t, const struct limit_group *g, const char *file,
                     const char *text)
{
    FD_AT_END int fd = open_limit_file(t, g, file, O_WRONLY | O_TRUNC);
    return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* For settings that not every kernel has. */
static int put_if_there(const struct limits_tree *t, const struct limit_group *g, const char *file,
                        const char *text)
{
    int r = put_limit(t, g, file, text);
    return r == -ENOENT ? 0 : r;
}

static int set_memory(const struct limits_tree *t, const struct limit_group *g, uint64_t bytes)
{
    char text[24];
    if (bytes)
        snprintf(text, sizeof text, "%" PRIu64, bytes);
    else
        snprintf(text, sizeof text, "%s", t->v2 ? "max" : "-1");
    if (t->v2) {
        int r = put_limit(t, g, "memory.max", text);
        return r < 0 ? r : put_if_there(t, g, "memory.swap.max", bytes ? "0" : "max");
    }
    /* The limit with swap may never be below the one without. */
    bool less = bytes && (!g->has.memory || bytes < g->has.memory);
    int r = less ? 0 : put_if_there(t, g, "memory.memsw.limit_in_bytes", text);
    if (r == 0)
        r = put_limit(t, g, "memory.limit_in_bytes", text);
    return r < 0 || !less ? r : put_if_there(t, g, "memory.memsw.limit_in_bytes", text);
}

static int set_group_processes(const struct limits_tree *t, const struct limit_group *g,
                               uint32_t most)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, most);
    return put_limit(t, g, "pids.max", most ? text : "max");
}

static int set_cpu(const struct limits_tree *t, const struct limit_group *g, uint32_t millis)
{
    char text[48] = "max";
    uint64_t quota = (uint64_t)millis * CPU_PERIOD_US / 1000;
    /* The kernel takes no less than a millisecond. */
    if (millis && quota < 1000)
        quota = 1000;
    if (!t->v2) {
        /* The period of a new group is the same one. */
        snprintf(text, sizeof text, "%" PRId64, millis ? (int64_t)quota : -1);
        return put_limit(t, g, "cpu.cfs_quota_us", text);
    }
    if (millis)
        snprintf(text, sizeof text, "%" PRIu64 " %u", quota, CPU_PERIOD_US);
    return put_limit(t, g, "cpu.max", text);
}

static uint64_t read_limit_number(int fd)
{
    char text[32];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = 0;
    return strtoull(text, NULL, 10);
}

/* The number behind `key` at the start of a line. */
static uint64_t read_key(int fd, const char *key)
{
    char text[1024] = "\n";
    ssize_t n = fd < 0 ? -1 : pread(fd, text + 1, sizeof text - 2, 0);
    text[n < 0 ? 1 : 1 + n] = 0;
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void read_limit_events(const struct limit_group *g, struct limits_seen *ret)
{
    ret->oom_kills = read_key(g->memory_events, "\noom_kill ");
    ret->process_limit_hits = read_key(g->process_events, "\nmax ");
}

/* The processor time of all that was ever in it. */
static uint64_t read_cpu_us(const struct limit_group *g)
{
    return g->cpu_stat ? read_key(g->cpu, "\nusage_usec ") : read_limit_number(g->cpu) / 1000;
}

static void open_counters(const struct limits_tree *t, struct limit_group *g)
{
    if (t->kinds & LIMIT_BIT(LIMIT_MEMORY)) {
        const char *peak = t->v2 ? "memory.peak" : "memory.max_usage_in_bytes";
        g->peak = open_limit_file(t, g, peak, O_RDWR);
        if (g->peak < 0)
            g->peak = open_limit_file(t, g, peak, O_RDONLY);
        g->usage = open_limit_file(t, g, t->v2 ? "memory.current" : "memory.usage_in_bytes",
                                   O_RDONLY);
        g->memory_events = open_limit_file(t, g, t->v2 ? "memory.events" : "memory.oom_control",
                                           O_RDONLY);
        /* Half of a command is no use to anyone. */
        if (t->v2)
            put_if_there(t, g, "memory.oom.group", "1");
    }
    if (t->kinds & LIMIT_BIT(LIMIT_CPU)) {
        g->cpu = open_limit_file(t, g, t->v2 ? "cpu.stat" : "cpuacct.usage", O_RDONLY);
        g->cpu_stat = t->v2;
    }
    if (t->kinds & LIMIT_BIT(LIMIT_PROCESSES)) {
        g->process_events = open_limit_file(t, g, "pids.events", O_RDONLY);
        g->process_count = open_limit_file(t, g, "pids.current", O_RDONLY);
    }
}

struct limit_group *limit_group_new(const struct limits *l, uint64_t number)
{
    struct limit_group *g = mem_zero(sizeof *g);
    g->limits = l;
    g->processes_known = true;
    g->peak = g->usage = g->memory_events = g->process_events = g->process_count = -1;
    g->cpu = -1;
    for (size_t i = 0; i < LIMIT_KINDS; i++)
        g->procs[i] = -1;
    snprintf(g->name, sizeof g->name, "%.100s%" PRIu64, l->prefix, number);
    for (size_t i = 0; i < l->n_trees; i++) {
        const struct limits_tree *t = &l->trees[i];
        /* A group of this name can only be one's own. */
        if (mkdirat(t->dir, g->name, 0755) == 0 || errno == EEXIST)
            /* Moving a whole process waits for all processors when none was moved for a while: with cgroup1
             * that took 11 ms. One thread, which is all there is of it, is moved at once. */
            g->procs[i] = open_limit_file(t, g, t->v2 ? "cgroup.procs" : "tasks", O_WRONLY);
        if (g->procs[i] < 0) {
            limit_group_remove(g);
            limit_group_free(g);
            return NULL;
        }
        open_counters(t, g);
    }
    return g;
}

int limit_group_remove(const struct limit_group *g)
{
    int r = 0;
    for (size_t i = 0; i < g->limits->n_trees; i++) {
        if (unlinkat(g->limits->trees[i].dir, g->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            r = -errno;
    }
    return r;
}

void limit_group_free(struct limit_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < LIMIT_KINDS; i++)
        fd_closep(&g->procs[i]);
    fd_closep(&g->peak);
    fd_closep(&g->usage);
    fd_closep(&g->memory_events);
    fd_closep(&g->process_events);
    fd_closep(&g->process_count);
    fd_closep(&g->cpu);
    free(g);
}

/* The numbers of the processes in it, a line each, and how many bytes that are, or -errno. */
static ssize_t read_members(const struct limit_group *g, char *text, size_t size)
{
    FD_AT_END int fd = open_limit_file(&g->limits->trees[0], g, "cgroup.procs", O_RDONLY);
    ssize_t n = fd < 0 ? -errno : fd_read_upto(fd, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
    return n;
}

bool limit_group_empty(const struct limit_group *g)
{
    char text[32];
    if (g->process_count < 0)
        return read_members(g, text, sizeof text) == 0;
    ssize_t n = pread(g->process_count, text, sizeof text, 0);
    return n == 2 && text[0] == '0';
}

static int set_all(struct limit_group *g, const struct limits_want *want)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < g->limits->n_trees; i++) {
        const struct limits_tree *t = &g->limits->trees[i];
        if ((t->kinds & LIMIT_BIT(LIMIT_MEMORY)) && want->memory != g->has.memory)
            r = set_memory(t, g, want->memory);
        /* Should a later one fail, it is known what it has. */
        if (r == 0 && (t->kinds & LIMIT_BIT(LIMIT_MEMORY)))
            g->has.memory = want->memory;
        if (r == 0 && (t->kinds & LIMIT_BIT(LIMIT_PROCESSES)) &&
            (want->processes != g->has.processes || !g->processes_known))
            r = set_group_processes(t, g, want->processes);
        if (r == 0 && (t->kinds & LIMIT_BIT(LIMIT_CPU)) && want->cpu_millis != g->has.cpu_millis)
            r = set_cpu(t, g, want->cpu_millis);
        if (r == 0 && (t->kinds & LIMIT_BIT(LIMIT_CPU)))
            g->has.cpu_millis = want->cpu_millis;
    }
    if (r == 0) {
        g->has = *want;
        g->processes_known = true;
    }
    return r;
}

int limit_group_change(struct limit_group *g, const struct limits_want *want)
{
    return set_all(g, want) < 0 ? -1 : 0;
}

bool limit_group_holds(const struct limit_group *g, uint64_t bytes)
{
    return g->usage >= 0 && read_limit_number(g->usage) > bytes;
}

int limit_group_begin(struct limit_group *g, const struct limits_want *want)
{
    /* Nor does it read as empty when somebody removed it. */
    int r = limit_group_empty(g) ? set_all(g, want) : -EBUSY;
    if (r < 0)
        return r;
    read_limit_events(g, &g->then);
    /* Files' pages of the command before still count here. */
    g->usage_then = read_limit_number(g->usage);
    g->cpu_us_then = read_cpu_us(g);
    /* cgroup2 allows this since Linux 6.12, for what is read through the same descriptor. */
    g->peak_resets = g->peak >= 0 && pwrite(g->peak, "0", 1, 0) == 1;
    g->peak_then = g->peak_resets ? 0 : read_limit_number(g->peak);
    return 0;
}

static uint64_t peak_memory(const struct limit_group *g)
{
    uint64_t peak = read_limit_number(g->peak);
    if (!g->peak_resets && peak <= g->peak_then)
        return 0;
    /* At its limit a group drops files' pages that were there before; below it they have all stayed. */
    const uint64_t nearly = 1u << 20;
    if (g->has.memory && peak + nearly >= g->has.memory)
        return peak;
    return peak > g->usage_then ? peak - g->usage_then : 0;
}

void limit_group_read(const struct limit_group *g, struct limits_seen *ret)
{
    *ret = (struct limits_seen){.cpu_ms = -1};
    if (!g)
        return;
    if (g->cpu >= 0)
        ret->cpu_ms = (int64_t)((read_cpu_us(g) - g->cpu_us_then) / 1000);
    read_limit_events(g, ret);
    ret->oom_kills -= g->then.oom_kills;
    ret->process_limit_hits -= g->then.process_limit_hits;
    ret->peak_memory = peak_memory(g);
}

int limit_group_fds(const struct limit_group *g, int fds[LIMIT_KINDS])
{
    int n = 0;
    while (g && n < LIMIT_KINDS && g->procs[n] >= 0) {
        fds[n] = g->procs[n];
        n++;
    }
    return n;
}

/* Between reading a number and killing it the process may have ended and the number be another's. */
static void kill_member(const struct limit_group *g, pid_t pid)
{
    char path[64];
    char text[8192];
    FD_AT_END int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    if (strstr(text, g->name))
        syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
}

void limit_group_kill(struct limit_group *g)
{
    char text[KILL_BYTES];
    const struct limits_tree *t = g->limits->trees;
    for (size_t i = 0; i < g->limits->n_trees; i++) {
        /* Since Linux 5.14. */
        if (t[i].v2 && put_limit(&t[i], g, "cgroup.kill", "1") == 0)
            return;
        /* Nobody is born while they die. */
        if ((t[i].kinds & LIMIT_BIT(LIMIT_PROCESSES)) && put_limit(&t[i], g, "pids.max", "0") == 0)
            g->processes_known = false;
    }
    read_members(g, text, sizeof text);
    for (char *at = text; *at;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        /* Those of another pid namespace are 0. */
        if (pid > 0)
            kill_member(g, (pid_t)pid);
        at = end + (*end == '\n');
    }
}
