#include "store/audit_anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/trusted.h"

/* Where the program itself is, as it was looked at. */
#define PROGRAM_FD 3
#define PROGRAM_PATH "/proc/self/fd/3"

static int anchor_failed(struct err *err, const char *program, const char *why)
{
    return err_set(err, ERR_INTERNAL,
                   "the audit log's anchor `%s` %s: heads are kept in `state.db` alone until it "
                   "works again",
                   program, why);
}

static char *make_anchor_variable(const char *name, const char *given, const char *fallback)
{
    const char *value = given ? given : getenv(name);
    return mem_format("%s=%s", name, value ? value : fallback);
}

/* Fits into the pipe: nobody has to wait for a reader. */
static int make_anchor_input(struct str line)
{
    int ends[2];
    if (line.n > 4096 || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    FD_AT_END int in = ends[0];
    FD_AT_END int out = ends[1];
    return fd_write_all(out, line.p, line.n) < 0 ? -1 : TAKE_FD(in);
}

/* The kernel hands an interpreter the name of the script. A script is told its own, not a descriptor's: nobody but root
 * and this user can have changed what is there since it was looked at. */
static bool is_script(const char *program)
{
    char start[2] = "";
    FD_AT_END int fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 && fd_read_upto(fd, start, sizeof start) == 2 && memcmp(start, "#!", 2) == 0;
}

static int spawn_anchor(const struct anchor *anchor, int program, int input, pid_t *ret_pid)
{
    bool script = is_script(anchor->argv[0]);
    char held[32];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigset_t all;
    FREE_AT_END char *path = make_anchor_variable("PATH", anchor->path,
                                                  "/usr/local/bin:/usr/bin:/bin");
    FREE_AT_END char *home = make_anchor_variable("HOME", anchor->home, "/");
    char *environment[] = {path, home, NULL};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    /* As the lowest that is free it is opened in its place, and so closed by exec. */
    snprintf(held, sizeof held, "/proc/self/fd/%d", program);
    if (!script)
        posix_spawn_file_actions_addopen(&files, PROGRAM_FD, held, O_PATH | O_CLOEXEC, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, script ? PROGRAM_FD : PROGRAM_FD + 1);
    posix_spawnattr_init(&how);
    /* A thread of the pool blocks signals, and the gate ignores some. */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    int r = posix_spawn(ret_pid, script ? anchor->argv[0] : PROGRAM_PATH, &files, &how,
                        (char *const *)(const void *)anchor->argv, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return -r;
}

/* Not reaped before its group was killed: the number stays its own as long. */
static bool wait_for(pid_t pid)
{
    FD_AT_END int process = (int)syscall(SYS_pidfd_open, pid, 0);
    uint64_t end = clock_mono_ns() + ANCHOR_DEADLINE_MS * 1000000ull;
    struct pollfd poll_for = {.fd = process, .events = POLLIN};
    for (uint64_t now = clock_mono_ns(); process >= 0 && now < end; now = clock_mono_ns()) {
        int r = poll(&poll_for, 1, (int)((end - now) / 1000000) + 1);
        if (r > 0)
            return true;
        if (r < 0 && errno != EINTR)
            return false;
    }
    return false;
}

int anchor_run(const struct anchor *anchor, struct str line, struct err *err)
{
    pid_t pid = 0;
    int status = 0;
    char why[TRUSTED_WHY_MAX + 32];
    char distrust[TRUSTED_WHY_MAX];
    int opened = trusted_open(anchor->argv[0], distrust);
    FD_AT_END int first = opened < 0 ? -1 : opened;
    FD_AT_END int program = first < 0 ? -1 : fcntl(first, F_DUPFD_CLOEXEC, PROGRAM_FD + 1);
    FD_AT_END int input = make_anchor_input(line);
    int r = opened < 0                 ? opened
            : input < 0 || program < 0 ? -errno
                                       : spawn_anchor(anchor, program, input, &pid);
    if (r == -EPERM && distrust[0]) {
        snprintf(why, sizeof why, "is not started: %s", distrust);
        return anchor_failed(err, anchor->argv[0], why);
    }
    if (r < 0) {
        snprintf(why, sizeof why, "cannot be started (%s)", strerror(-r));
        return anchor_failed(err, anchor->argv[0], why);
    }
    bool ended = wait_for(pid);
    if (!ended)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ended)
        return anchor_failed(err, anchor->argv[0], "did not end within 10 s");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    snprintf(why, sizeof why,
             WIFEXITED(status) ? "failed with status %d" : "was ended by signal %d",
             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return anchor_failed(err, anchor->argv[0], why);
}
