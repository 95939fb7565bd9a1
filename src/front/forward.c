/* The owner's side: connections from other gates of the same user. */
#include "front/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "front/forward_path.h"
#include "front/talk.h"

#define CONNECTIONS_MAX 64
#define NO_PLACE "the session has 64 guests, as many as it takes"
#define NO_DESCRIPTORS "the session's owner has no descriptors left (ulimit -n)"
/* For the hello: whoever connects has it ready. */
#define HELLO_NS 10000000000u

struct connection {
    struct connection *next;
    struct forward *forward;
    struct lines *lines;
    int out; /* of the lines */
    uint64_t since_ns;
    bool stopped; /* for want of a hello */
    bool ended;
};

struct forward {
    struct gate *gate;
    struct session *session;
    int fd;
    uv_poll_t poll;
    int spare; /* given up for a connection that there is no other descriptor for, so that it can be closed */
    uv_timer_t beats;
    unsigned closing; /* handles */
    struct connection *connections;
    size_t count;
};

static void connection_ended(void *arg)
{
    struct connection *c = arg;
    c->ended = true; /* forward_flush takes it out: this is called from within the lines */
}

static void drop_ended(struct forward *f)
{
    for (struct connection **at = &f->connections; *at;) {
        struct connection *c = *at;
        if (!c->ended) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        f->count--;
        lines_free(c->lines);
        free(c);
    }
}

static bool same_user(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

/* Without a word it would look as if the owner were ending, and be tried again at once. */
static void tell_no_place(int fd, const char *why)
{
    char line[160];
    int n = snprintf(line, sizeof line, "{\"error\":\"%s; try again\",\"full\":true}\n", why);
    (void)!send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Left where it is, it would wake the loop again and again, and whoever it is would wait. */
static void turn_away(struct forward *f)
{
    fd_closep(&f->spare);
    FD_AT_END int fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && same_user(fd))
        tell_no_place(fd, NO_DESCRIPTORS);
    fd_closep(&fd);
    f->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void stop_silent(struct connection *c)
{
    c->stopped = true;
    lines_stop(c->lines, "no hello");
}

static void on_beat(uv_timer_t *timer)
{
    struct forward *f = timer->data;
    const uint64_t now = clock_mono_ns();
    for (struct connection *c = f->connections; c; c = c->next) {
        if (c->ended || c->stopped)
            continue;
        if (!lines_beat(c->lines) && now - c->since_ns > HELLO_NS)
            stop_silent(c);
        lines_check_reader(c->lines);
    }
    forward_flush(f);
}

/* Where all places are taken, the oldest connection without a hello gives its own. */
static bool make_place(struct forward *f)
{
    struct connection *silent = NULL;
    size_t taken = 0;
    for (struct connection *c = f->connections; c; c = c->next) {
        if (c->ended || c->stopped)
            continue;
        taken++;
        if (!lines_beat(c->lines) && (!silent || c->since_ns < silent->since_ns))
            silent = c;
    }
    if (taken < CONNECTIONS_MAX)
        return true;
    if (!silent)
        return false;
    tell_no_place(silent->out, "the session has more connections than it takes, and this one said "
                               "no hello");
    stop_silent(silent);
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct forward *f = poll->data;
    FD_AT_END int fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        turn_away(f);
    FD_AT_END int out = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 || !same_user(fd))
        return;
    if (out < 0 || !make_place(f)) {
        tell_no_place(fd, out < 0 ? NO_DESCRIPTORS : NO_PLACE);
        return;
    }
    struct connection *c = mem_zero(sizeof *c);
    c->forward = f;
    c->since_ns = clock_mono_ns();
    c->out = out;
    c->lines = talk_start_forwarded(f->gate, f->session, TAKE_FD(fd), TAKE_FD(out),
                                    connection_ended, c);
    c->next = f->connections;
    f->connections = c;
    f->count++;
}

/* Whoever was the first to have room is the last the next time. */
static void rotate_connections(struct forward *f)
{
    struct connection *first = f->connections;
    struct connection **end = &f->connections;
    if (!first || !first->next)
        return;
    f->connections = first->next;
    while (*end)
        end = &(*end)->next;
    *end = first;
    first->next = NULL;
}

void forward_flush(struct forward *f)
{
    for (struct connection *c = f->connections; c; c = c->next) {
        if (!c->ended)
            lines_flush(c->lines);
    }
    drop_ended(f);
    rotate_connections(f);
}

static int listen_at(const struct named *named)
{
    struct sockaddr_un address;
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    forward_address(named->dir_fd, &address);
    /* The lock is held, so a socket that is there is a dead gate's. */
    unlinkat(named->dir_fd, FORWARD_SOCKET, 0);
    mode_t mask = umask(0177);
    int r = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    return r < 0 || listen(fd, 16) < 0 ? -1 : TAKE_FD(fd);
}

bool forward_is_idle(const struct forward *f)
{
    return f->count == 0;
}

int forward_listen(struct forward **ret, struct gate *gate, struct session *session,
                   const struct named *named, struct err *err)
{
    FD_AT_END int fd = listen_at(named);
    FREE_AT_END struct forward *f = mem_zero(sizeof *f);
    int r = fd < 0 ? -errno : uv_poll_init(&gate->loop, &f->poll, fd);
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "listening for session %s: %s", named->id,
                       strerror(-r));
    f->gate = gate;
    f->session = session;
    f->fd = TAKE_FD(fd);
    f->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    f->poll.data = f;
    uv_poll_start(&f->poll, UV_READABLE, on_connection);
    uv_unref((uv_handle_t *)&f->poll);
    uv_timer_init(&gate->loop, &f->beats);
    f->beats.data = f;
    uv_timer_start(&f->beats, on_beat, FORWARD_BEAT_MS, FORWARD_BEAT_MS);
    uv_unref((uv_handle_t *)&f->beats);
    *ret = TAKE_PTR(f);
    return 0;
}

static void on_forward_closed(uv_handle_t *handle)
{
    struct forward *f = handle->data;
    if (--f->closing > 0)
        return;
    close(f->fd);
    fd_closep(&f->spare);
    free(f);
}

bool forward_wind_down(struct forward *f)
{
    uv_poll_stop(&f->poll);
    for (struct connection *c = f->connections; c; c = c->next) {
        if (!c->ended)
            lines_stop(c->lines, "the session's owner is shutting down");
    }
    return f->count == 0;
}

void forward_give_up(struct forward *f)
{
    for (struct connection *c = f->connections; c; c = c->next) {
        if (!c->ended)
            lines_give_up(c->lines);
    }
}

void forward_close(struct forward *f)
{
    if (!f)
        return;
    f->closing = 2;
    uv_close((uv_handle_t *)&f->poll, on_forward_closed);
    uv_close((uv_handle_t *)&f->beats, on_forward_closed);
}
