#include "session/command_terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/tty.h"

#define READ_BYTES (64u << 10)
#define READ_BURST 8
/* A terminal holds far less. */
#define DRAIN_READS 256
/* The kernel's numbers of /dev/ptmx. */
#define PTMX_MAJOR 5
#define PTMX_MINOR 2

enum { SOCKET, SCREEN, HANDLES };

struct command_terminal {
    struct call *call; /* NULL: it has ended, the handles are closing */
    uv_loop_t *loop;
    uv_poll_t polls[HANDLES];
    int fds[HANDLES];
    unsigned open_handles;
};

static void free_terminal(struct command_terminal *t)
{
    for (size_t i = 0; i < HANDLES; i++)
        fd_closep(&t->fds[i]);
    free(t);
}

static void on_terminal_closed(uv_handle_t *handle)
{
    struct command_terminal *t = handle->data;
    if (--t->open_handles == 0)
        free_terminal(t);
}

static int watch_terminal_fd(struct command_terminal *t, size_t which, uv_poll_cb fn)
{
    int r = uv_poll_init(t->loop, &t->polls[which], t->fds[which]);
    if (r < 0)
        return r;
    t->polls[which].data = t;
    t->open_handles++;
    return uv_poll_start(&t->polls[which], UV_READABLE, fn);
}

/* False: there is nothing more for now, or ever. */
static bool read_screen(struct command_terminal *t)
{
    static char buffer[READ_BYTES];
    ssize_t n = read(t->fds[SCREEN], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        uv_poll_stop(&t->polls[SCREEN]);
        return false;
    }
    t->call->output(t->call, STREAM_STDOUT, (struct str){buffer, (size_t)n});
    return true;
}

static void on_screen(uv_poll_t *handle, int status, int events)
{
    (void)events;
    struct command_terminal *t = handle->data;
    if (status < 0)
        uv_poll_stop(handle);
    for (unsigned i = 0; status >= 0 && t->call && i < READ_BURST && read_screen(t); i++)
        continue;
}

/* From inside: nothing but the other end of a terminal is read from and written to as one. */
static bool is_terminal_end(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
           st.st_rdev == makedev(PTMX_MAJOR, PTMX_MINOR);
}

static bool take_screen(struct command_terminal *t, int *fd)
{
    struct call_terminal *terminal = t->call->terminal;
    if (t->fds[SCREEN] >= 0 || *fd < 0 || !is_terminal_end(*fd) || fd_set_nonblock(*fd) < 0)
        return false;
    t->fds[SCREEN] = TAKE_FD(*fd);
    if (watch_terminal_fd(t, SCREEN, on_screen) < 0)
        return false;
    terminal->fd = t->fds[SCREEN];
    terminal->socket = t->fds[SOCKET];
    terminal->opened(t->call);
    return tty_send(t->fds[SOCKET], TTY_READY, -1) == 0;
}

static bool take_word(struct command_terminal *t)
{
    /* Not static: what a gate has at rest counts against a limit of its memory, and few gates have a terminal. */
    FREE_AT_END char *buffer = mem_zero(FRAME_BYTES_MAX);
    FD_AT_END int fd = -1;
    struct frame frame;
    int r = frame_receive(t->fds[SOCKET], buffer, MSG_DONTWAIT, &frame, &fd);
    if (r == -EAGAIN)
        return true;
    if (r <= 0 || frame.type != FRAME_TERMINAL)
        return false;
    if (frame.token == TTY_OPENED)
        return take_screen(t, &fd);
    if (frame.token == TTY_STOPPED && t->call->terminal->fd >= 0)
        t->call->terminal->stopped(t->call);
    return true;
}

/* Whoever breaks the rules gets no more words: a command that has not begun then does not. */
static void on_word(uv_poll_t *handle, int status, int events)
{
    (void)events;
    struct command_terminal *t = handle->data;
    if (status < 0 || (t->call && !take_word(t)))
        uv_poll_stop(handle);
}

int command_terminal_new(uv_loop_t *loop, struct call *call, struct frame_fds *away,
                         struct command_terminal **ret, struct err *err)
{
    int pair[2];
    *ret = NULL;
    if (!call->terminal)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, err_code_for(errno, ERR_INTERNAL), "making a terminal's socket: %s",
                       strerror(errno));
    away->fd[away->n++] = pair[1];
    struct command_terminal *t = mem_zero(sizeof *t);
    *t = (struct command_terminal){.call = call, .loop = loop, .fds = {pair[0], -1}};
    int r = watch_terminal_fd(t, SOCKET, on_word);
    if (r < 0) {
        command_terminal_free(t);
        return err_set(err, err_code_for(-r, ERR_INTERNAL), "watching a terminal: %s",
                       strerror(-r));
    }
    *ret = t;
    return 0;
}

void command_terminal_drain(struct command_terminal *t)
{
    for (unsigned i = 0; t && t->fds[SCREEN] >= 0 && i < DRAIN_READS && read_screen(t); i++)
        continue;
}

void command_terminal_free(struct command_terminal *t)
{
    if (!t)
        return;
    t->call->terminal->fd = t->call->terminal->socket = -1;
    t->call = NULL;
    if (t->open_handles == 0)
        free_terminal(t);
    else
        for (size_t i = 0; i < HANDLES; i++)
            if (t->polls[i].data)
                uv_close((uv_handle_t *)&t->polls[i], on_terminal_closed);
}

void command_terminal_resume(const struct call *call)
{
    if (call->terminal && call->terminal->socket >= 0)
        tty_send(call->terminal->socket, TTY_RESUME, -1);
}
