// Starting a program with its output on a pipe.
#pragma once

#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static inline pid_t command_start(char **argv, int *ret_output)
{
    int output[2];
    if (pipe2(output, O_CLOEXEC) < 0)
        err(1, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    if (error)
        errx(1, "%s: %s", argv[0], strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    close(output[1]);
    *ret_output = output[0];
    return pid;
}
