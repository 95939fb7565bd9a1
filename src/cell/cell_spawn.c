#include "cell/cell_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/processor.h"
#include "base/sanitized.h"
#include "cell/cell.h"
#include "cell/launcher.h"

static struct cell_process prepared;

/* A pair of sockets with numbers above those they are moved to in the child, so that no move closes another's
 * source. 0 or -errno. */
static int make_pair(int type, int fds[2])
{
    int low[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, low) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, CELL_LAST_FD + 1);
        close(low[i]);
    }
    return fds[0] < 0 || fds[1] < 0 ? -EMFILE : 0;
}

/* This program again, as `name`, with these descriptors and no environment. 0 or an errno. */
static int start_cell_process(char *name, int control, int work, const int help[2], pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    sigset_t none;
    sigset_t usual; /* exec keeps what is ignored, and commands would have it so too */
    sigemptyset(&none);
    sigemptyset(&usual);
    for (int number = 1; number < SIGSYS + 1; number++)
        sigaddset(&usual, number);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    /* A group of its own: Ctrl-C at the terminal is the gate's business. */
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
#ifdef SANDGATE_SANITIZED
    posix_spawn_file_actions_adddup2(&actions, sanitized_report_fd(), 2);
#else
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
#endif
    posix_spawn_file_actions_adddup2(&actions, control, CELL_CONTROL_FD);
    posix_spawn_file_actions_adddup2(&actions, work, CELL_WORK_FD);
    posix_spawn_file_actions_adddup2(&actions, help[1], CELL_HELP_FD);
    posix_spawn_file_actions_adddup2(&actions, help[0], CELL_HELP_SEND_FD);
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};
    int r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return r;
}

static void close_all(struct cell_process *p)
{
    fd_closep(&p->control);
    fd_closep(&p->work);
    fd_closep(&p->help);
}

static int spawn_cell(bool network, struct cell_process *ret)
{
    static char alone[] = CELL_ARGV0;
    static char in_network[] = CELL_ARGV0_NETWORK;
    int control[2] = {-1, -1};
    int work[2] = {-1, -1};
    int help[2] = {-1, -1};
    processor_part(); /* what it may run on goes over to the child */
    int r = make_pair(SOCK_SEQPACKET, control);
    if (r == 0)
        r = make_pair(SOCK_SEQPACKET, work);
    if (r == 0)
        r = make_pair(SOCK_SEQPACKET, help);
    *ret = (struct cell_process){.control = control[0], .work = work[0], .help = help[0]};
    if (r == 0)
        r = -start_cell_process(network ? in_network : alone, control[1], work[1], help, &ret->pid);
    fd_closep(&control[1]);
    fd_closep(&work[1]);
    fd_closep(&help[1]);
    if (r < 0)
        close_all(ret);
    return r;
}

int cell_spawn(bool network, struct cell_process *ret)
{
    if (network || !prepared.pid)
        return spawn_cell(network, ret);
    *ret = prepared;
    prepared.pid = 0;
    return 0;
}

void cell_prepare(void)
{
    /* Should it fail, so will the start of the cell, which tells why. */
    if (!prepared.pid && spawn_cell(false, &prepared) < 0)
        prepared.pid = 0;
}

void cell_process_end(struct cell_process *process)
{
    if (!process->pid)
        return;
    /* The launcher, if there is one by now, is a child as well, and in the same group. */
    kill(-process->pid, SIGKILL);
    while (waitpid(-process->pid, NULL, 0) > 0 || errno == EINTR)
        continue;
    close_all(process);
    process->pid = 0;
}

void cell_unprepare(void)
{
    cell_process_end(&prepared);
}
