// Starting programs with pipes, and running them to their end.
#pragma once

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static inline void command_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        err(1, "pipe");
}

static inline pid_t command_spawn(char **argv, posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
    if (error)
        errx(1, "%s: %s", argv[0], strerror(error));
    posix_spawn_file_actions_destroy(actions);
    return pid;
}

static inline pid_t command_start(char **argv, int *ret_output)
{
    int output[2];
    command_pipe(output);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    pid_t pid = command_spawn(argv, &actions);
    close(output[1]);
    *ret_output = output[0];
    return pid;
}

// One that is talked to over its standard input and output.
struct gate {
    pid_t pid;
    int in, out;
};

static inline struct gate gate_start(char **argv)
{
    int in[2], out[2];
    command_pipe(in);
    command_pipe(out);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    struct gate gate = {.pid = command_spawn(argv, &actions), .in = in[1], .out = out[0]};
    close(in[0]);
    close(out[1]);
    return gate;
}

static inline void gate_end(const struct gate *gate)
{
    close(gate->in);
    waitpid(gate->pid, NULL, 0);
    close(gate->out);
}

// Until both have ended. What comes beyond `size` bytes is not kept.
static inline size_t command_read_both(int fds[2], char *data, size_t size)
{
    struct pollfd ends[] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
    size_t n = 0;
    for (int open_ends = 2; open_ends > 0;) {
        if (poll(ends, 2, -1) < 0)
            err(1, "poll");
        for (int i = 0; i < 2; i++) {
            char rest[4096];
            bool room = n < size;
            if (ends[i].fd < 0 || !ends[i].revents)
                continue;
            ssize_t got = read(ends[i].fd, room ? data + n : rest, room ? size - n : sizeof rest);
            if (got <= 0) {
                ends[i].fd = -1;
                open_ends--;
            } else if (room) {
                n += (size_t)got;
            }
        }
    }
    return n;
}

// What a caller without a sandbox does: three pipes, an empty input, both outputs read to their ends, the process waited
// for. It must exit with 0.
static inline void command_run(char **argv)
{
    char data[4096];
    int pipes[3][2], status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++) {
        command_pipe(pipes[i]);
        posix_spawn_file_actions_adddup2(&actions, pipes[i][i != 0], i);
    }
    pid_t pid = command_spawn(argv, &actions);
    for (int i = 0; i < 3; i++)
        close(pipes[i][i != 0]);
    close(pipes[0][1]);
    size_t n = command_read_both((int[2]){pipes[1][0], pipes[2][0]}, data, sizeof data);
    if (waitpid(pid, &status, 0) < 0)
        err(1, "waitpid");
    close(pipes[1][0]);
    close(pipes[2][0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        errx(1, "%s failed with status 0x%x: %.*s", argv[0], (unsigned)status,
             n < 300 ? (int)n : 300, data);
}

/* What stands between `::`, one after the other. */
static inline void split_words(char **words, void (*add)(void *arg, char **words), void *arg)
{
    char **first = words;
    for (char **word = words; *word; word++)
        if (strcmp(*word, "::") == 0) {
            *word = NULL;
            add(arg, first);
            first = word + 1;
        }
    add(arg, first);
}
