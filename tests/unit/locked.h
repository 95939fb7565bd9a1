/* Running something as a command of the cell runs: locked, with its filter's reports answered. */
#ifndef SANDGATE_TESTS_LOCKED_H
#define SANDGATE_TESTS_LOCKED_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/lock.h"
#include "cell/violations.h"

/* Runs in the locked process; what it returns arrives as `result`. */
typedef int (*locked_fn)(const void *arg);

struct locked {
    pid_t pid;
    int pidfd;
    int socket;
    int listener;
    struct violations violations;
    int status; /* as waitpid has it */
    int result; /* -1 when there was none */
};

#define LOCKED_TIMEOUT_MS 60000

/* A plain user has no capabilities to drop, and the lock insists on dropping them. */
static inline void locked_get_capabilities(void)
{
    if (prctl(PR_CAPBSET_READ, 0) == 1 && geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) {
        perror("unshare");
        _exit(101);
    }
}

static inline void locked_send(int socket, int fd)
{
    char byte = 'x';
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof fd)];
    } control = {.head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (sendmsg(socket, &message, 0) != 1)
        _exit(102);
}

static inline int locked_receive(int socket)
{
    char byte;
    int fd = -1;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof fd)];
    } control = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

static inline void locked_child(int socket, const struct landlock_rule *rules, size_t count,
                                locked_fn act, const void *arg)
{
    int listener;
    struct err err;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    locked_get_capabilities();
    if (lock_as(ROLE_COMMAND, rules, count, &listener, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(103);
    }
    locked_send(socket, listener);
    close(listener);
    int result = act(arg);
    _exit(send(socket, &result, sizeof result, 0) == sizeof result ? 0 : 104);
}

static inline void locked_start(struct locked *l, const struct landlock_rule *rules, size_t count,
                                locked_fn act, const void *arg)
{
    int pair[2];
    *l = (struct locked){.result = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    l->pid = fork();
    if (l->pid == 0)
        locked_child(pair[1], rules, count, act, arg);
    close(pair[1]);
    l->socket = pair[0];
    l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
    assert_true(l->pidfd >= 0);
    l->listener = locked_receive(l->socket);
    if (l->listener < 0)
        fail_msg("a process could not lock itself");
}

static inline void locked_end(struct locked *l)
{
    assert_int_equal(waitpid(l->pid, &l->status, 0), l->pid);
    if (recv(l->socket, &l->result, sizeof l->result, MSG_DONTWAIT) != sizeof l->result)
        l->result = -1;
    close(l->listener);
    close(l->pidfd);
    close(l->socket);
}

/* As a command's first process, which only has to know of these. */
static inline bool locked_allows(void *self, const char *call, const struct seccomp_data *data)
{
    (void)self;
    (void)data;
    return strncmp(call, "epoll_create", strlen("epoll_create")) == 0 ||
           strncmp(call, "inotify_init", strlen("inotify_init")) == 0 ||
           strcmp(call, "landlock_create_ruleset") == 0; /* as where a control group counts */
}

/* Answers until the process has ended. */
static inline void locked_watch(struct locked *l)
{
    for (;;) {
        struct pollfd fds[] = {{l->listener, POLLIN, 0}, {l->pidfd, POLLIN, 0}};
        int r = poll(fds, 2, LOCKED_TIMEOUT_MS);
        if (r <= 0) {
            kill(l->pid, SIGKILL);
            fail_msg("the locked process does not end");
        }
        if (fds[0].revents & POLLIN)
            assert_true(violations_take(l->listener, &l->violations,
                                        &(struct violations_judge){locked_allows, NULL}));
        else if (fds[1].revents)
            break;
    }
    locked_end(l);
}

static inline void locked_run_under(struct locked *l, const struct landlock_rule *rules,
                                    size_t count, locked_fn act, const void *arg)
{
    locked_start(l, rules, count, act, arg);
    locked_watch(l);
}

/* With the whole file system. */
static inline void locked_run(struct locked *l, locked_fn act, const void *arg)
{
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {root, .writable = true, .command = true, .devices = true};
    locked_run_under(l, &all, 1, act, arg);
}

#endif
