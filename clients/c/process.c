#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MAX_BYTES ((size_t)256 << 20)

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t sandgate_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
}

int sandgate_left(int64_t deadline)
{
    if (deadline == INT64_MAX)
        return -1;
    int64_t left = deadline - now_ms();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static int fail(struct sandgate_error *error, int r, const char *what, const char *name)
{
    if (error)
        snprintf(error->message, sizeof error->message, "%s%s: %s", what, name, strerror(-r));
    return r;
}

int sandgate_options_read(const struct sandgate_options *options, struct sandgate_options *ret,
                          struct sandgate_error *ret_error)
{
    *ret = (struct sandgate_options){.size = sizeof *ret};
    if (options && options->size < offsetof(struct sandgate_options, workspace))
        return fail(ret_error, -EINVAL, "sandgate_options", " has no size");
    for (size_t i = sizeof *ret; options && i < options->size; i++) {
        if (((const char *)options)[i])
            return fail(ret_error, -EINVAL, "sandgate_options",
                        " has fields that this version does not know");
    }
    if (options)
        memcpy(ret, options, options->size < sizeof *ret ? options->size : sizeof *ret);
    if (ret->flags & ~SANDGATE_SHOW_STDERR)
        return fail(ret_error, -EINVAL, "sandgate_options", " has flags that do not exist");
    if (!ret->program)
        ret->program = secure_getenv("SANDGATE");
    if (!ret->program || !*ret->program)
        ret->program = "sandgate";
    if (!ret->max_bytes)
        ret->max_bytes = DEFAULT_MAX_BYTES;
    return 0;
}

const char **sandgate_options_words(const struct sandgate_options *o)
{
    const struct {
        const char *name;
        const char *value;
    } given[] = {
        {"--workspace", o->workspace}, {"--dialect", o->dialect}, {"--config", o->config},
        {"--session", o->session},     {"--agent", o->agent},
    };
    size_t count = sizeof given / sizeof *given;
    size_t extra = 0;
    size_t n = 0;
    while (o->extra_arguments && o->extra_arguments[extra])
        extra++;
    const char **argv = calloc(3 + 2 * count + extra + 1, sizeof *argv);
    if (!argv)
        return NULL;
    argv[n++] = o->program;
    argv[n++] = "stdio";
    if (o->on_approval)
        argv[n++] = "--approver";
    for (size_t i = 0; i < count; i++) {
        if (!given[i].value)
            continue;
        argv[n++] = given[i].name;
        argv[n++] = given[i].value;
    }
    for (size_t i = 0; i < extra; i++)
        argv[n++] = o->extra_arguments[i];
    return argv;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Standard descriptors that this program has closed must not be taken: the child's are put there. */
static int move_up(int *fd)
{
    if (*fd > STDERR_FILENO)
        return 0;
    int higher = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (higher < 0)
        return -errno;
    close(*fd);
    *fd = higher;
    return 0;
}

struct ends {
    int ours[2]; /* socket, standard error */
    int theirs[2];
};

static int make_ends(struct ends *ends, bool words)
{
    int pair[2];
    int r = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ends->ours[0] = pair[0];
    ends->theirs[0] = pair[1];
    /* Not blocking at either end: a gate whose warnings nobody reads loses them and goes on. */
    if (words) {
        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
            return -errno;
        ends->ours[1] = pair[0];
        ends->theirs[1] = pair[1];
    }
    for (int i = 0; i < 2 && r == 0; i++) {
        r = ends->ours[i] < 0 ? 0 : move_up(&ends->ours[i]);
        if (r == 0 && ends->theirs[i] >= 0)
            r = move_up(&ends->theirs[i]);
    }
    return r;
}

/* No signal that this program blocks or ignores stays so in the child, and what is typed at a terminal
 * to end this program does not end the child first. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attributes, 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    return r ? r : posix_spawnattr_setflags(attributes, flags);
}

static int set_descriptors(posix_spawn_file_actions_t *actions, const struct ends *ends)
{
    int r = posix_spawn_file_actions_adddup2(actions, ends->theirs[0], STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, ends->theirs[0], STDOUT_FILENO);
    if (r == 0 && ends->theirs[1] >= 0)
        r = posix_spawn_file_actions_adddup2(actions, ends->theirs[1], STDERR_FILENO);
#if defined __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
#endif
    return r;
}

static int spawn(struct sandgate_process *process, const struct sandgate_options *options,
                 const char *const *argv, const struct ends *ends)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        const char *const *environment = options->environment;
        r = set_attributes(&attributes);
        if (r == 0)
            r = set_descriptors(&actions, ends);
        if (r ==
            0) /* the arrays are not written to: the casts are those of posix_spawn's interface */
            r = posix_spawnp(&process->pid, options->program, &actions, &attributes,
                             (char *const *)(uintptr_t)argv,
                             environment ? (char *const *)(uintptr_t)environment : environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Somebody else in this program has waited for the child already; or the kernel cannot watch it, and it is ended. */
static int without_pid_fd(struct sandgate_process *process, const struct sandgate_options *options,
                          struct sandgate_error *ret_error)
{
    int error = errno;
    process->ended = true;
    process->status = -ECHILD;
    if (error == ESRCH)
        return 0;
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close_fd(&process->fd);
    close_fd(&process->words_fd);
    fail(ret_error, -error, "cannot watch ", options->program);
    return -error;
}

int sandgate_process_start(struct sandgate_process *process, const struct sandgate_options *options,
                           const char *const *argv, struct sandgate_error *ret_error)
{
    struct ends ends = {{-1, -1}, {-1, -1}};
    bool words = !(options->flags & SANDGATE_SHOW_STDERR);
    *process = (struct sandgate_process){.pid_fd = -1, .fd = -1, .words_fd = -1};
    int r = make_ends(&ends, words);
    if (r < 0)
        fail(ret_error, r, "no descriptors for ", options->program);
    else if ((r = spawn(process, options, argv, &ends)) < 0)
        fail(ret_error, r, "cannot start ", options->program);
    close_fd(&ends.theirs[0]);
    close_fd(&ends.theirs[1]);
    if (r < 0) {
        close_fd(&ends.ours[0]);
        close_fd(&ends.ours[1]);
        return r;
    }
    process->fd = ends.ours[0];
    process->words_fd = ends.ours[1];
    process->pid_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pid_fd < 0)
        return without_pid_fd(process, options, ret_error);
    return 0;
}

/* The end is kept; what came before is forgotten. */
static void remember(struct sandgate_process *process, const char *bytes, size_t n)
{
    size_t room = sizeof process->words - process->n_words;
    if (n > room) {
        memmove(process->words, process->words + n - room, process->n_words - (n - room));
        process->n_words -= n - room;
    }
    memcpy(process->words + process->n_words, bytes, n);
    process->n_words += n;
}

void sandgate_process_hear(struct sandgate_process *process)
{
    char bytes[SANDGATE_WORDS_MAX];
    /* Bounded: one that never stops talking must not keep us here. */
    for (int i = 0; i < 64 && process->words_fd >= 0; i++) {
        ssize_t n = read(process->words_fd, bytes, sizeof bytes);
        if (n > 0)
            remember(process, bytes, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close_fd(&process->words_fd);
        else if (errno == EAGAIN)
            return;
    }
}

/* Without waiting. */
static void take(struct sandgate_process *process)
{
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)process->pid_fd, &info, WEXITED | WNOHANG) < 0) {
        process->ended = true;
        process->status = -errno;
    } else if (info.si_pid) {
        process->ended = true;
        process->killed = info.si_code != CLD_EXITED;
        process->status = process->killed ? 128 + info.si_status : info.si_status;
    }
}

bool sandgate_process_wait(struct sandgate_process *process, int64_t deadline)
{
    while (!process->ended) {
        struct pollfd fds[] = {
            {.fd = process->pid_fd, .events = POLLIN},
            {.fd = process->words_fd, .events = POLLIN},
        };
        int n = poll(fds, 2, sandgate_left(deadline));
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && fds[1].revents)
            sandgate_process_hear(process);
        if (n > 0 && fds[0].revents)
            take(process);
        else if (n == 0)
            return false;
    }
    sandgate_process_hear(process);
    return true;
}

void sandgate_process_signal(const struct sandgate_process *process, int number)
{
    if (!process->ended)
        syscall(SYS_pidfd_send_signal, process->pid_fd, number, NULL, 0);
}

void sandgate_make_printable(char *text)
{
    for (char *p = text; *p; p++) {
        if ((*p > 0 && *p < 0x20 && *p != '\n') || *p == 0x7f)
            *p = '?';
    }
}

/* Whole lines only. A NUL that was said ends them. */
static void tidy_words(struct sandgate_process *process, char *text, size_t n)
{
    const char *from = process->words;
    size_t bytes = process->n_words;
    if (bytes == sizeof process->words || bytes >= n) {
        size_t cut = bytes >= n ? bytes - n + 1 : 0;
        const char *line = memchr(from + cut, '\n', bytes - cut);
        cut = line && line + 1 < from + bytes ? (size_t)(line + 1 - from) : cut;
        from += cut;
        bytes -= cut;
    }
    while (bytes && from[bytes - 1] == '\n')
        bytes--;
    memcpy(text, from, bytes);
    text[bytes] = '\0';
    sandgate_make_printable(text);
}

void sandgate_process_describe(struct sandgate_process *process, char *text, size_t n)
{
    char words[768];
    char how[64] = "the gate closed its output";
    sandgate_process_hear(process);
    tidy_words(process, words, sizeof words);
    if (process->killed)
        snprintf(how, sizeof how, "the gate was killed by signal %d", process->status - 128);
    else if (process->ended && process->status >= 0)
        snprintf(how, sizeof how, "the gate ended with status %d", process->status);
    else if (process->ended)
        snprintf(how, sizeof how, "the gate ended");
    snprintf(text, n, "%s%s%s", how, *words ? ": " : "", words);
}

int sandgate_process_end(struct sandgate_process *process, int64_t deadline)
{
    if (!sandgate_process_wait(process, deadline)) {
        sandgate_process_signal(process, SIGKILL);
        sandgate_process_wait(process, INT64_MAX);
    }
    close_fd(&process->fd);
    close_fd(&process->words_fd);
    close_fd(&process->pid_fd);
    return process->status;
}
