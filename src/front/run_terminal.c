#include "front/run_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/screen_reset.h"
#include "session/command_terminal.h"

#define TYPED_READS 4
#define NAME_MAX_BYTES 64

/* --- the person's terminal */

static bool same_settings(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag;
}

static void enter_raw(struct run_terminal *t)
{
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t->raw) < 0)
        return;
    t->is_raw = true;
    /* As the kernel has it: the guard compares. */
    (void)tcgetattr(STDIN_FILENO, &t->raw);
}

static void leave_raw(struct run_terminal *t)
{
    if (!t->is_raw)
        return;
    t->is_raw = false;
    const char *reset = screen_reset_behind_program();
    if (*t->drawn)
        (void)fd_write_all(STDOUT_FILENO, reset, strlen(reset));
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->usual);
}

/* Only what this program set is undone: by now a shell may have the terminal, with settings of its own. */
static _Noreturn void guard_terminal(struct run_terminal *t, int fd)
{
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                  SIGTSTP, SIGTTOU, SIGTTIN, SIGPIPE};
    const char *reset = screen_reset_behind_program();
    struct termios now;
    char byte;
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    setpgid(0, 0);
    if (fd != STDERR_FILENO + 1)
        dup2(fd, STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    close(STDERR_FILENO);
    ssize_t n;
    while ((n = read(STDERR_FILENO + 1, &byte, 1)) < 0 && errno == EINTR)
        continue;
    cfmakeraw(&t->raw);
    if (n == 0 && tcgetattr(STDIN_FILENO, &now) == 0 && same_settings(&now, &t->raw)) {
        (void)fd_write_all(STDOUT_FILENO, reset, strlen(reset));
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &t->usual);
    }
    _exit(0);
}

/* A byte on its pipe: there is nothing to be given back. The end of the pipe: this process was killed. */
static void start_guard(struct run_terminal *t)
{
    int pipe_fds[2];
    t->guard = -1;
    t->guard_fd = -1;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return;
    t->guard = fork();
    if (t->guard == 0)
        guard_terminal(t, pipe_fds[0]);
    close(pipe_fds[0]);
    t->guard_fd = pipe_fds[1];
}

static void stop_guard(struct run_terminal *t)
{
    if (t->guard <= 0)
        return;
    (void)fd_write_all(t->guard_fd, "x", 1);
    fd_closep(&t->guard_fd);
    while (waitpid(t->guard, NULL, 0) < 0 && errno == EINTR)
        continue;
    t->guard = -1;
}

/* A name for a file in the system's folders, and nothing else. */
static const char *kind_of_terminal(void)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-._";
    const char *term = getenv("TERM");
    bool named = term && *term && *term != '.' && strlen(term) <= NAME_MAX_BYTES &&
                 strspn(term, letters) == strlen(term);
    return named ? term : "dumb";
}

static void on_opened(struct call *call);
static void on_stopped(struct call *call);

bool run_terminal_open(struct run_terminal *t, bool wanted)
{
    *t = (struct run_terminal){
        .link = {.fd = -1, .socket = -1}, .typed = -1, .other = -1, .guard = -1};
    /* In the background its settings are somebody else's. */
    if (!wanted || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
        tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &t->usual) < 0)
        return false;
    t->typed = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (t->typed < 0)
        return false;
    t->raw = t->usual;
    cfmakeraw(&t->raw);
    t->link.errors = isatty(STDERR_FILENO);
    t->link.name = kind_of_terminal();
    t->link.opened = on_opened;
    t->link.stopped = on_stopped;
    start_guard(t);
    return true;
}

/* --- what is typed */

static void pass_typed(struct run_terminal *t);

static void on_room(uv_poll_t *handle, int status, int events)
{
    (void)events;
    if (status < 0)
        uv_poll_stop(handle);
    else
        pass_typed(handle->data);
}

static void on_typed(uv_poll_t *handle, int status, int events)
{
    (void)events;
    struct run_terminal *t = handle->data;
    ssize_t n = status < 0 ? 0 : read(t->typed, t->held, sizeof t->held);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        uv_poll_stop(handle);
        return;
    }
    t->at = 0;
    t->n = (size_t)n;
    pass_typed(t);
}

/* Nothing more is read while the command takes nothing. */
static void pass_typed(struct run_terminal *t)
{
    while (t->other >= 0 && t->at < t->n) {
        ssize_t n = write(t->other, t->held + t->at, t->n - t->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            uv_poll_stop(&t->input);
            (void)uv_poll_start(&t->room, UV_WRITABLE, on_room);
            return;
        }
        if (n <= 0)
            break;
        t->at += (size_t)n;
    }
    uv_poll_stop(&t->room);
    if (t->other >= 0)
        (void)uv_poll_start(&t->input, UV_READABLE, on_typed);
}

static void pass_size(const struct run_terminal *t)
{
    struct winsize size;
    if (t->other >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        (void)ioctl(t->other, TIOCSWINSZ, &size);
}

/* --- what the command's terminal tells */

static struct run_terminal *terminal_of(struct call *call)
{
    return (struct run_terminal *)(void *)call->terminal;
}

static void on_opened(struct call *call)
{
    struct run_terminal *t = terminal_of(call);
    /* Both are watched for something else there. */
    t->other = fcntl(t->link.fd, F_DUPFD_CLOEXEC, 0);
    if (t->other < 0)
        return;
    pass_size(t);
    /* The keys that the person has chosen for erasing and the like. */
    (void)tcsetattr(t->other, TCSANOW, &t->usual);
    if (uv_poll_init(t->loop, &t->input, t->typed) == 0)
        t->input.data = t;
    if (uv_poll_init(t->loop, &t->room, t->other) == 0)
        t->room.data = t;
    enter_raw(t);
    if (t->input.data && t->room.data)
        (void)uv_poll_start(&t->input, UV_READABLE, on_typed);
}

/* Stopped as the program is, by the same signal: where no shell could let it go on, the kernel stops nothing. The whole
 * group, as by a terminal's key: a script that waits for this process would wait for ever, and its shell for the script. */
static void on_stopped(struct call *call)
{
    struct run_terminal *t = terminal_of(call);
    leave_raw(t);
    kill(0, SIGTSTP);
    enter_raw(t);
    pass_size(t);
    command_terminal_resume(call);
}

static void on_terminal_signal(uv_signal_t *handle, int signum)
{
    struct run_terminal *t = handle->data;
    if (!*t->call || t->other < 0)
        return;
    /* Whoever stopped it may have changed the terminal. */
    if (signum == SIGCONT)
        enter_raw(t);
    pass_size(t);
}

void run_terminal_start(struct run_terminal *t, uv_loop_t *loop, struct call **call,
                        const bool *drawn)
{
    static const int signals[RUN_TERMINAL_SIGNALS] = {SIGWINCH, SIGCONT};
    t->loop = loop;
    t->call = call;
    t->drawn = drawn;
    for (size_t i = 0; i < RUN_TERMINAL_SIGNALS; i++) {
        if (uv_signal_init(loop, &t->signals[i]) < 0)
            continue;
        t->signals[i].data = t;
        (void)uv_signal_start(&t->signals[i], on_terminal_signal, signals[i]);
        uv_unref((uv_handle_t *)&t->signals[i]);
    }
}

void run_terminal_end(struct run_terminal *t)
{
    if (t->input.data)
        uv_poll_stop(&t->input);
    if (t->room.data)
        uv_poll_stop(&t->room);
    leave_raw(t);
}

static void on_input_closed(uv_handle_t *handle)
{
    fd_closep(&((struct run_terminal *)handle->data)->typed);
}

static void on_room_closed(uv_handle_t *handle)
{
    fd_closep(&((struct run_terminal *)handle->data)->other);
}

void run_terminal_stop(struct run_terminal *t)
{
    run_terminal_end(t);
    stop_guard(t);
    if (t->input.data)
        uv_close((uv_handle_t *)&t->input, on_input_closed);
    else
        fd_closep(&t->typed);
    if (t->room.data)
        uv_close((uv_handle_t *)&t->room, on_room_closed);
    else
        fd_closep(&t->other);
    for (size_t i = 0; i < RUN_TERMINAL_SIGNALS; i++) {
        if (t->signals[i].data)
            uv_close((uv_handle_t *)&t->signals[i], NULL);
    }
}
