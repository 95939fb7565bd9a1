/* The command's first process, which is Sandgate's, and everything else that runs. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempts.h"

/* --- its files in /proc */

static enum outcome read_first(const struct attempt *a)
{
    (void)a;
    static const char *const files[] = {
        "environ", "mem",     "maps",        "smaps",   "auxv",      "io",   "stack", "fd",
        "fdinfo",  "syscall", "personality", "pagemap", "map_files", "root", "cwd",   "exe"};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < 2 * (sizeof files / sizeof *files); i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/1/%s%s", i % 2 ? "task/1/" : "", files[i / 2]);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char byte;
        /* Some can be opened by all, and give nothing. */
        worst = both(worst, judge(fd < 0 ? -1 : read(fd, &byte, 1) == 0 ? -1 : 0, path));
        if (fd >= 0)
            close(fd);
    }
    return worst;
}

static enum outcome one_of_first(const struct attempt *a)
{
    return try_open((const char *)a->args[0], (int)a->args[1]);
}

static enum outcome read_link_of_first(const struct attempt *a)
{
    char target[PATH_MAX];
    return judge(readlink((const char *)a->args[0], target, sizeof target), a->name);
}

/* Its status pipe would be among them. */
static enum outcome descriptors_of_first(const struct attempt *a)
{
    (void)a;
    enum outcome worst = STOPPED;
    for (int i = 0; i < 64; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/1/fd/%d", i);
        if (open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK) >= 0 ||
            open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0)
            worst = judge(0, path);
    }
    DIR *dir = opendir("/proc/1/fd");
    return both(worst, judge(dir ? 0 : -1, "/proc/1/fd"));
}

/* What can be opened is then written to: some files check only that. */
static enum outcome write_first(const struct attempt *a)
{
    (void)a;
    static const char *const files[] = {
        "autogroup",     "clear_refs", "comm",          "coredump_filter",
        "oom_score_adj", "oom_adj",    "sched",         "setgroups",
        "uid_map",       "gid_map",    "timerslack_ns", "timens_offsets",
        "loginuid",      "attr/exec",  "attr/current",  "attr/fscreate"};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/1/%s", files[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        worst = both(worst, judge(fd < 0 ? -1 : write(fd, "0", 1), path));
        if (fd >= 0)
            close(fd);
    }
    return worst;
}

static enum outcome run_first(const struct attempt *a)
{
    (void)a;
    char name[] = "sandgate";
    char *argv[] = {name, NULL};
    char *env[] = {NULL};
    return judge(execve("/proc/1/exe", argv, env), "running /proc/1/exe");
}

/* --- descriptors */

static enum outcome inherited(const struct attempt *a)
{
    (void)a;
    enum outcome outcome = STOPPED;
    for (int fd = 0; fd < 4096; fd++) {
        char path[64];
        char target[256] = "";
        if (fcntl(fd, F_GETFD) < 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) < 0)
            return NOT_TRIED;
        printf("%d is %s\n", fd, target);
        bool expected = fd == 0   ? strcmp(target, "/dev/null") == 0
                        : fd <= 2 ? strncmp(target, "pipe:", 5) == 0
                                  : false;
        if (!expected)
            outcome = THROUGH;
    }
    return outcome;
}

/* --- reaching into others */

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static enum outcome trace(const struct attempt *a)
{
    (void)a;
    pid_t child = start_child();
    enum outcome worst = judge(ptrace(PTRACE_ATTACH, child, NULL, NULL), "attaching to a child");
    if (worst == STOPPED) {
        worst = judge(ptrace(PTRACE_ATTACH, 1, NULL, NULL), "attaching to the first");
        worst = both(worst, judge(ptrace(PTRACE_SEIZE, 1, NULL, NULL), "seizing the first"));
        worst = both(worst, judge(ptrace(PTRACE_TRACEME, 0, NULL, NULL), "being traced"));
    }
    end_child(child);
    return worst;
}

static char target_bytes[8] = "before";

static enum outcome reach_memory(const struct attempt *a)
{
    char bytes[8] = "after";
    struct iovec here = {bytes, sizeof bytes};
    struct iovec there = {target_bytes, sizeof target_bytes};
    pid_t child = start_child();
    enum outcome worst = judge(syscall(a->call, child, &here, 1, &there, 1, 0), "of a child");
    worst = both(worst, judge(syscall(a->call, 1, &here, 1, &there, 1, 0), "of the first"));
    end_child(child);
    return worst;
}

static enum outcome take_descriptor(const struct attempt *a)
{
    (void)a;
    pid_t child = start_child();
    int child_fd = (int)syscall(SYS_pidfd_open, child, 0);
    int first_fd = (int)syscall(SYS_pidfd_open, 1, 0);
    if (child_fd < 0 || first_fd < 0)
        return NOT_TRIED;
    enum outcome worst = judge(syscall(SYS_pidfd_getfd, child_fd, 1, 0), "of a child");
    for (int i = 0; i < 8; i++)
        worst = both(worst, judge(syscall(SYS_pidfd_getfd, first_fd, i, 0), "of the first"));
    end_child(child);
    return worst;
}

static enum outcome advise_memory(const struct attempt *a)
{
    pid_t child = start_child();
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    struct iovec there = {(void *)((uintptr_t)target_bytes & ~4095UL), 4096};
    const int cold = 20;
    enum outcome outcome = judge(syscall(SYS_process_madvise, fd, &there, 1, cold, 0), a->name);
    end_child(child);
    return outcome;
}

/* --- signals */

/* Whether the first lives: without it nobody would be left to say so. */
static enum outcome signal_first(const struct attempt *a)
{
    (void)a;
    int fd = (int)syscall(SYS_pidfd_open, 1, 0);
    for (int number = 1; number <= 64; number++) {
        kill(1, number);
        syscall(SYS_tgkill, 1, 1, number);
        if (fd >= 0)
            syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    }
    char state[512] = "";
    FILE *file = fopen("/proc/1/stat", "re");
    if (!file || !fgets(state, sizeof state, file))
        return NOT_TRIED;
    const char *behind = strrchr(state, ')');
    bool stopped = behind && (behind[2] == 'T' || behind[2] == 't' || behind[2] == 'Z');
    return stopped ? judge(0, "stopping the first") : STOPPED;
}

static enum outcome signal_all(const struct attempt *a)
{
    (void)a;
    pid_t child = start_child();
    int status;
    if (kill(-1, SIGKILL) < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return NOT_TRIED;
    return STOPPED;
}

/* Processes of the machine by their numbers there. */
static enum outcome signal_number(const struct attempt *a)
{
    (void)a;
    pid_t pid = (pid_t)strtol(argument(0), NULL, 10);
    if (pid <= 2)
        return NOT_TRIED;
    enum outcome worst = judge(kill(pid, SIGKILL), "kill");
    worst = both(worst, judge(syscall(SYS_pidfd_open, pid, 0), "pidfd_open"));
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return both(worst, try_open(path, O_RDONLY));
}

/* It has the same user: the kernel's own rules allow it. */
static enum outcome starve_first(const struct attempt *a)
{
    (void)a;
    const struct sched_param idle = {0};
    enum outcome worst = STOPPED;
    static const int all[] = {RLIMIT_AS,     RLIMIT_DATA,  RLIMIT_FSIZE,      RLIMIT_MEMLOCK,
                              RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_SIGPENDING, RLIMIT_STACK};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        worst = both(worst, judge(prlimit(1, (__rlimit_resource_t)all[i], &none, NULL), "a limit"));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    worst = both(worst, judge(sched_setscheduler(1, SCHED_IDLE, &idle), "SCHED_IDLE"));
    worst = both(worst, judge(sched_setaffinity(1, sizeof one, &one), "one processor"));
    return both(worst, judge(setpriority(PRIO_PROCESS, 1, 19), "nice 19"));
}

static enum outcome other_processes(const struct attempt *a)
{
    (void)a;
    enum outcome outcome = STOPPED;
    DIR *dir = opendir("/proc");
    if (!dir)
        return NOT_TRIED;
    for (struct dirent *entry; (entry = readdir(dir));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == 1 || pid == getpid() || pid == getppid())
            continue;
        printf("there is %ld\n", pid);
        outcome = THROUGH;
    }
    closedir(dir);
    return outcome;
}

#define FIRST(name_, run_, ...)                                                                    \
    {                                                                                              \
        .name = name_, .run = run_, .bare = true, .args = { __VA_ARGS__ }                          \
    }

const struct attempt process_attempts[] = {
    FIRST("first-read", read_first, 0),
    FIRST("first-root", one_of_first, TEXT("/proc/1/root/etc/passwd"), O_RDONLY),
    FIRST("first-cwd", one_of_first, TEXT("/proc/1/cwd/."), O_RDONLY),
    FIRST("first-memory", one_of_first, TEXT("/proc/1/mem"), O_RDWR),
    FIRST("first-environ", one_of_first, TEXT("/proc/1/environ"), O_RDONLY),
    FIRST("first-program", one_of_first, TEXT("/proc/1/exe"), O_RDONLY),
    {.name = "first-program-write", .run = one_of_first, .args = {TEXT("/proc/1/exe"), O_WRONLY}},
    FIRST("first-program-link", read_link_of_first, TEXT("/proc/1/exe")),
    FIRST("first-root-link", read_link_of_first, TEXT("/proc/1/root")),
    FIRST("first-descriptors", descriptors_of_first, 0),
    FIRST("first-write", write_first, 0),
    {.name = "first-run", .run = run_first},
    {.name = "inherited", .run = inherited},
    {.name = "ptrace", .run = trace, .violation = "ptrace", .bare = true},
    {.name = "memory-read",
     .run = reach_memory,
     .violation = "process_vm_readv",
     .bare = true,
     .call = SYS_process_vm_readv},
    {.name = "memory-write",
     .run = reach_memory,
     .violation = "process_vm_writev",
     .bare = true,
     .call = SYS_process_vm_writev},
    {.name = "memory-advise", .run = advise_memory, .violation = "process_madvise"},
    {.name = "pidfd-getfd", .run = take_descriptor, .violation = "pidfd_getfd", .bare = true},
    {.name = "signal-first", .run = signal_first},
    {.name = "signal-all", .run = signal_all, .alone = true},
    {.name = "signal-number", .run = signal_number, .argument = true},
    {.name = "starve-first",
     .run = starve_first,
     .violation = "prlimit64",
     .bare = true,
     .alone = true},
    {.name = "other-processes", .run = other_processes},
    {0},
};
