#include "tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 32768 };

struct process {
    pid_t pid;
    pid_t parent;
    uint64_t reaped_ticks;
    bool inside;
};

static size_t read_text(pid_t pid, const char *name, char *text, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t size = fread(text, 1, capacity - 1, file);
    fclose(file);
    text[size] = '\0';
    return size;
}

// Field numbers as in proc_pid_stat(5). The command name, field 2, may hold spaces and parentheses:
// the others are counted from the last one.
static uint64_t stat_field(const char *stat, int field)
{
    const char *at = strrchr(stat, ')');
    for (int i = 2; at && i < field; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static bool process_read(pid_t pid, struct process *ret)
{
    char stat[1024];
    if (!read_text(pid, "stat", stat, sizeof stat))
        return false;
    *ret = (struct process){
        .pid = pid,
        .parent = (pid_t)stat_field(stat, 4),
        .reaped_ticks = stat_field(stat, 16) + stat_field(stat, 17),
    };
    return true;
}

static int processes_list(struct process *list)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; count < PROCESSES_MAX && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && process_read(pid, &list[count]))
            count++;
    }
    closedir(proc);
    return count;
}

static bool parent_inside(const struct process *list, int count, pid_t parent)
{
    for (int i = 0; i < count; i++)
        if (list[i].pid == parent)
            return list[i].inside;
    return false;
}

static void mark_descendants(struct process *list, int count, pid_t root)
{
    for (int i = 0; i < count; i++)
        list[i].inside = list[i].pid == root;
    for (bool grown = true; grown;) {
        grown = false;
        for (int i = 0; i < count; i++)
            if (!list[i].inside && parent_inside(list, count, list[i].parent))
                list[i].inside = grown = true;
    }
}

// The process clock has nanoseconds and keeps the time of threads that ended, which
// task/*/schedstat forgets.
// Children that were waited for are known only in ticks.
static uint64_t process_cpu_ns(const struct process *process)
{
    clockid_t clock;
    struct timespec time = {0};
    if (clock_getcpuclockid(process->pid, &clock) == 0)
        clock_gettime(clock, &time);
    uint64_t reaped_ns = process->reaped_ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec + reaped_ns;
}

static bool read_kilobytes(pid_t pid, const char *name, const char *key, uint64_t *ret_bytes)
{
    char text[4096];
    const char *at = read_text(pid, name, text, sizeof text) ? strstr(text, key) : NULL;
    if (!at)
        return false;
    *ret_bytes = strtoull(at + strlen(key), NULL, 10) * 1024;
    return true;
}

// Another user's smaps_rollup may be closed to us; VmRSS is always open but counts shared pages in
// each process.
static uint64_t process_memory(pid_t pid)
{
    uint64_t bytes = 0;
    if (!read_kilobytes(pid, "smaps_rollup", "\nPss:", &bytes))
        read_kilobytes(pid, "status", "\nVmRSS:", &bytes);
    return bytes;
}

struct tree_use tree_measure(pid_t root)
{
    struct tree_use use = {0};
    struct process *list = calloc(PROCESSES_MAX, sizeof *list);
    if (!list)
        abort();
    int count = processes_list(list);
    mark_descendants(list, count, root);
    for (int i = 0; i < count; i++) {
        if (!list[i].inside)
            continue;
        use.processes++;
        use.cpu_ns += process_cpu_ns(&list[i]);
    }
    for (int i = 0; i < count; i++)
        if (list[i].inside) {
            uint64_t peak = 0;
            read_kilobytes(list[i].pid, "status", "\nVmHWM:", &peak);
            use.memory_bytes += process_memory(list[i].pid);
            use.peak_bytes += peak;
        }
    free(list);
    return use;
}
