// Runs one command again and again from several processes at once, each with posix_spawn and three pipes, and prints how
// many were run a second, as one line of JSON. With `namespaces` each has a first process in new ones, with its own /proc,
// /tmp and /dev/pts: what the kernel asks for that, with neither filter nor limits nor anybody who answers.

#include "command.h"
#include "measure.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static uint64_t cpu_ns(void)
{
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000ull +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000ull;
}

static void mount_own(const char *type, const char *place, const char *options)
{
    if (mount(type, place, type, MS_NOSUID | MS_NOEXEC, options) < 0)
        err(1, "mounting %s", place);
}

static void run_in_namespaces(char **command)
{
    int status;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD, 0, 0,
                               0, 0);
    if (pid < 0)
        err(1, "new namespaces");
    if (pid == 0) {
        mount_own("proc", "/proc", NULL);
        mount_own("tmpfs", "/tmp", "size=16m,mode=1777");
        mount_own("devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620");
        command_run(command);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        errx(1, "a first process failed");
}

static void start_starter(size_t runs, void (*run)(char **command), char **command)
{
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid > 0)
        return;
    for (size_t i = 0; i < runs; i++)
        run(command);
    _exit(0);
}

// Mounts made from here on are this program's alone.
static void part_from_host(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        err(1, "mounts of its own");
}

int main(int argc, char **argv)
{
    if (argc < 5)
        errx(2, "usage: storm spawn|namespaces PROCESSES RUNS COMMAND...");
    bool namespaces = strcmp(argv[1], "namespaces") == 0;
    if (!namespaces && strcmp(argv[1], "spawn") != 0)
        errx(2, "spawn or namespaces, not %s", argv[1]);
    if (namespaces)
        part_from_host();
    argv++;
    size_t processes = parse_count(argv[1]), runs = parse_count(argv[2]);
    size_t each = processes ? (runs + processes - 1) / processes : 0;
    if (!each)
        errx(2, "nothing to run");
    uint64_t begin_ns = now_ns();
    for (size_t i = 0; i < processes; i++)
        start_starter(each, namespaces ? run_in_namespaces : command_run, argv + 3);
    for (size_t i = 0; i < processes; i++) {
        int status;
        if (wait(&status) < 0 || status != 0)
            errx(1, "a process that starts commands failed");
    }
    double seconds = (double)(now_ns() - begin_ns) / 1e9;
    double total = (double)(each * processes);
    printf("{\"runs\":%.0f,\"rate\":%.1f,\"cpu_us\":%.2f}\n", total, total / seconds,
           (double)cpu_ns() / 1e3 / total);
    return 0;
}
