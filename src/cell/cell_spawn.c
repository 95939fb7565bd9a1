#include "cell/cell_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell/launcher.h"

int cell_spawn(int control, int work, const int help[2], pid_t *ret_pid)
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
#ifndef SANDGATE_SANITIZED
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
#endif
    posix_spawn_file_actions_adddup2(&actions, control, CELL_CONTROL_FD);
    posix_spawn_file_actions_adddup2(&actions, work, CELL_WORK_FD);
    posix_spawn_file_actions_adddup2(&actions, help[1], CELL_HELP_FD);
    posix_spawn_file_actions_adddup2(&actions, help[0], CELL_HELP_SEND_FD);
    char name[] = CELL_ARGV0;
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};
    int r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return r;
}

int cell_pair(int type, int fds[2])
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
