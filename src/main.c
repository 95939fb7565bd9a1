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
#include "cell/launcher.h"
#include "core/registry.h"
#include "front/front.h"
#include "tools/all.h"
#include "work/worker.h"

#define STACK_MIN (1u << 20)

struct subcommand {
    const char *name;
    int (*run)(int argc, char *const *argv);
    const char *doc;
};

static const struct subcommand commands[] = {
    {"call", front_call, "run one tool call and print its answer"},
    {"stdio", front_stdio, "JSON lines on standard input and output"},
    {"mcp", front_mcp, "a Model Context Protocol server on standard input and output"},
    {"run", front_run, "run one command in a sandbox"},
    {"tools", front_tools, "list the tools and their schemas"},
    {"session", front_session, "make, list and forget sessions"},
    {"approvals", front_approvals,
     "list the calls that wait for a yes, and the rules approved for always"},
    {"approve", front_approve, "let a call run that waits for a yes"},
    {"deny", front_deny, "refuse a call that waits for a yes"},
    {"quarantine", front_quarantine,
     "list, restore and remove what was taken out of workspaces after commands"},
    {"audit", front_audit, "what was called, and what became of it"},
    {"stats", front_stats, "sums over all calls, for Prometheus"},
    {"policy", front_policy, "show what the rules say of a call"},
};

static int help_all_commands(bool wanted)
{
    BUF_AT_END struct buf out = BUF_INIT(8192);
    buf_add_text(&out, "usage: sandgate COMMAND [options]\n\n"
                       "Runs the tool calls of a language-model agent in a kernel sandbox.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_addf(&out, "  %-10s %s\n", commands[i].name, commands[i].doc);
    buf_add_text(&out,
                 "\n`sandgate COMMAND --help` explains each. `sandgate --version` tells which one "
                 "this is.\n");
    if (wanted)
        return front_end(front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK);
    fd_write_all(STDERR_FILENO, out.data, out.len);
    return EXIT_USAGE;
}

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
    if (argc == 1 && strcmp(argv[0], CELL_ARGV0) == 0)
        return launcher_main(worker_main);
    unblock_signals();
    signal(SIGABRT, tell_abort);
    if (fill_standard_descriptors() < 0)
        return EXIT_USAGE;
    keep_owner_rights();
    sanitized_open_report();
    registry_use(tools_all);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help_all_commands(argc >= 2);
    if (strcmp(argv[1], "--version") == 0)
        return front_end(front_put(STR("sandgate " SANDGATE_VERSION SANITIZED_VERSION "\n")) < 0
                             ? EXIT_TOOL_ERROR
                             : EXIT_OK);
    if (check_stack() < 0)
        return EXIT_USAGE;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return front_end(commands[i].run(argc - 2, argv + 2));
    }
    log_error("there is no command `%.40s`; see `sandgate --help`", argv[1]);
    return EXIT_USAGE;
}
