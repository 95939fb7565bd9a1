#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/processor.h"
#include "base/reserve.h"
#include "base/sanitized.h"
#include "cell/own_start.h"
#include "core/registry.h"
#include "front/commands.h"
#include "front/front.h"
#include "tools/all.h"
#include "work/worker.h"

#define STACK_MIN (1u << 20)

/* Without memory for small things, or what its loop needs, a gate aborts. Where memory is what lacked, that is a failure
 * like any other; else the signal goes on when this returns. */
static void tell_abort(int number)
{
    static const char text[] =
        "sandgate: out of memory or another resource of the system: giving up\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    if (reserve_was_used())
        _exit(EXIT_TOOL_ERROR);
}

/* What a pattern that is nested as deep as is allowed takes when it is compiled, and more than all else does. A stack that
 * is full ends the process without a word. */
static int check_stack(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_MIN)
        return 0;
    stack.rlim_cur = stack.rlim_max < STACK_MIN ? stack.rlim_max : STACK_MIN;
    if (stack.rlim_cur == STACK_MIN && setrlimit(RLIMIT_STACK, &stack) == 0)
        return 0;
    /* Formatting would take more stack than there may be. */
    static const char text[] =
        "sandgate: the limit of the stack is less than 1 MiB (RLIMIT_STACK, `ulimit -s`)\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    return -1;
}

/* Else the log or the state folder becomes standard output. Writing to what stands in for that fails, so that a lost
 * answer is noticed. */
static int fill_standard_descriptors(void)
{
    static const char text[] =
        "sandgate: standard input, output or error is closed, and /dev/null cannot be opened\n";
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
        bool closed = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
        if (!closed || open("/dev/null", mode) == fd /* NOLINT(android-cloexec-open) */)
            continue;
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        return -1;
    }
    return 0;
}

/* A umask that takes rights from the owner would leave a state folder that no later gate can open. */
static void keep_owner_rights(void)
{
    mode_t mask = umask(022);
    umask(mask & ~(mode_t)0700);
}

/* A mask is inherited: a gate whose starter blocked SIGTERM could not be ended by it. */
static void unblock_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
    processor_init();
    /* A file over the limit is an error like any other, in a cell too; programs that are started have it as usual. */
    signal(SIGXFSZ, SIG_IGN);
    int status;
    if (own_start_done(argc, argv, worker_main, &status))
        return status;
    unblock_signals();
    signal(SIGABRT, tell_abort);
    if (fill_standard_descriptors() < 0)
        return EXIT_USAGE;
    keep_owner_rights();
    sanitized_open_report();
    registry_use(tools_all);
    if (argc > 1 && argv[1][0] != '-' && check_stack() < 0)
        return EXIT_USAGE;
    return front_end(commands_run(argc - 1, argv + 1));
}
