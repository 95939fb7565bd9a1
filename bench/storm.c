// Runs one command again and again from several processes at once, each with posix_spawn and three pipes, and prints how
// many were run a second, as one line of JSON.

#include "command.h"
#include "measure.h"

#include <stdio.h>
#include <sys/resource.h>

static uint64_t cpu_ns(void)
{
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000ull +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000ull;
}

static void start_starter(size_t runs, char **command)
{
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid > 0)
        return;
    for (size_t i = 0; i < runs; i++)
        command_run(command);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        errx(2, "usage: storm PROCESSES RUNS COMMAND...");
    size_t processes = parse_count(argv[1]), runs = parse_count(argv[2]);
    size_t each = processes ? (runs + processes - 1) / processes : 0;
    if (!each)
        errx(2, "nothing to run");
    uint64_t begin_ns = now_ns();
    for (size_t i = 0; i < processes; i++)
        start_starter(each, argv + 3);
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
