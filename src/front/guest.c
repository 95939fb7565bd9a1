/* A guest of a session: passes lines on to the owner and answers back, and answers itself what the owner no longer
 * can. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/forward.h"
#include "front/forward_path.h"
#include "front/front.h"
#include "front/guest_calls.h"
#include "front/guest_stop.h"

#define CHUNK (64u << 10)
#define ANSWER_MAX ((size_t)1 << 30)
#define KEPT (2u << 20)
/* For the rest of a line that a caller is in the middle of, and for the next where lines come one after the other. */
#define REST_MS 2000
#define NEXT_MS 100
/* For all of that together: a caller that never pauses is not read for ever. */
#define REST_ALL_MS 10000
#define REST_BYTES ((uint64_t)64 << 20)
/* Who is told to stop does not wait for ever for a reader that does not read. */
#define STOP_GRACE_MS 3000

struct guest {
    int sock;
    struct guest_calls calls;
    /* To the owner. It reads only when it has nothing to write and never waits in a write: the owner stops
     * reading while its answers are not taken, so waiting for either side alone is a deadlock. */
    char up[CHUNK];
    size_t up_at;
    size_t up_n;
    uint64_t sent;
    bool mid_line;  /* the owner has a part of one */
    bool up_over;   /* the caller has no more */
    bool up_broken; /* the owner takes no more */
    /* From the owner. An answer goes on once it is whole: what is cut off is answered here. */
    struct buf partial;
    struct buf out;
    size_t out_at;
    uint64_t answering; /* the line whose answer comes next; 0: none */
    uint64_t heard_ns;  /* when the owner was last heard of, or was first expected to be */
    bool hangs;         /* it was not for too long */
    bool goodbye;       /* the owner ends by itself */
    bool down_over;
    bool failed; /* something that was told on standard error */
    bool torn;   /* the rest of a line was not awaited: it would be read as a line of its own */
    struct guest_stop stop;
    bool stopping;     /* a signal came: nothing more is read, and the owner was asked to cancel */
    uint64_t last_one; /* then: the last line that the owner has all of */
};

static void fail_guest(struct guest *g, const char *what)
{
    log_error("%s: %s", what, strerror(errno));
    g->failed = true;
}

static void read_up(struct guest *g)
{
    ssize_t n = read(STDIN_FILENO, g->up, sizeof g->up);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0)
        fail_guest(g, "reading calls");
    g->up_at = 0;
    g->up_n = n > 0 ? (size_t)n : 0;
    if (!g->calls.first)
        g->heard_ns = clock_mono_ns();
    guest_calls_take(&g->calls, (struct str){g->up, g->up_n});
    g->up_over = n <= 0;
    if (g->up_over)
        guest_calls_take_end(&g->calls);
}

/* Nothing to tell of: calls that it leaves behind are answered. */
static bool is_owner_gone(int error)
{
    return error == EPIPE || error == ECONNRESET;
}

static void write_up(struct guest *g)
{
    ssize_t n = send(g->sock, g->up + g->up_at, g->up_n - g->up_at, MSG_NOSIGNAL);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && !is_owner_gone(errno))
        fail_guest(g, "passing calls on to the session's owner");
    g->up_broken = n < 0;
    if (n <= 0)
        return;
    g->up_at += (size_t)n;
    g->sent += (uint64_t)n;
    g->mid_line = g->up[g->up_at - 1] != '\n';
    /* Of a line that is still on its way the owner says nothing: it takes it. */
    if (!g->calls.first)
        g->heard_ns = clock_mono_ns();
}

/* What the owner does not have yet it will not get. A part of a line becomes one that is no call. */
static void ask_to_stop(struct guest *g)
{
    g->stopping = g->up_over = true;
    g->last_one = guest_calls_reached(&g->calls, g->sent);
    int n = snprintf(g->up, sizeof g->up, "%s%s\n", g->mid_line ? "\x01\n" : "", FORWARD_STOP);
    g->up_at = 0;
    g->up_n = (size_t)n;
    g->heard_ns = clock_mono_ns();
}

/* A mark stands before each answer, and alone for a line that has none. */
static void take_owner_mark(struct guest *g, const char *text, size_t n)
{
    uint64_t number = 0;
    g->goodbye = g->goodbye || text[n - 1] == FORWARD_GOODBYE;
    for (size_t i = 1; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        number = 10 * number + (uint64_t)(text[i] - '0');
    if (text[n - 1] == FORWARD_NO_ANSWER)
        guest_calls_answered(&g->calls, number);
    else if (text[n - 1] != FORWARD_GOODBYE && text[n - 1] != FORWARD_BEAT)
        g->answering = number;
}

static void take_owner_line(struct guest *g, const char *text, size_t n)
{
    if (n && text[0] == FORWARD_MARK) {
        take_owner_mark(g, text, n);
        return;
    }
    bool nobodys = g->stopping && g->answering > g->last_one;
    if (!nobodys) {
        buf_add(&g->out, text, n);
        buf_add_char(&g->out, '\n');
    }
    if (g->answering && !nobodys)
        guest_calls_answered(&g->calls, g->answering);
    g->answering = 0;
}

static void read_down(struct guest *g)
{
    char bytes[CHUNK];
    ssize_t n = recv(g->sock, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && !is_owner_gone(errno))
        fail_guest(g, "listening to the session's owner");
    g->down_over = n <= 0;
    g->heard_ns = clock_mono_ns();
    const char *at = bytes;
    for (const char *end = bytes + (n > 0 ? n : 0); at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (buf_add(&g->partial, at, (size_t)((newline ? newline : end) - at)) < 0)
            g->down_over = true; /* no owner sends that much */
        at = newline ? newline + 1 : end;
        if (!newline || g->down_over)
            continue;
        take_owner_line(g, buf_str(&g->partial).p, g->partial.len);
        buf_reset(&g->partial, KEPT);
    }
}

/* Whoever closed the pipe wants no answers. */
static void tell_unwritten(struct guest *g, int error)
{
    errno = error;
    if (error != EPIPE)
        fail_guest(g, "writing answers");
}

static bool write_out(struct guest *g)
{
    /* A pipe that can be written to takes this much at once. */
    size_t left = g->out.len - g->out_at;
    ssize_t n = write(STDOUT_FILENO, g->out.data + g->out_at, left < PIPE_BUF ? left : PIPE_BUF);
    /* What the machine lacks for a moment it may have when the pipe is looked at again. */
    if (n < 0 && errno != EINTR && !err_is_shortage(errno)) {
        tell_unwritten(g, errno);
        return false;
    }
    g->out_at += n > 0 ? (size_t)n : 0;
    if (g->out_at == g->out.len) {
        buf_reset(&g->out, KEPT);
        g->out_at = 0;
    }
    return true;
}

/* How long to wait for the owner, which says something now and then while calls are on their way; -1: for ever. */
static int silence(const struct guest *g)
{
    bool waits = g->calls.first || g->up_at < g->up_n;
    if (!waits || g->down_over)
        return -1;
    uint64_t ms = (clock_mono_ns() - g->heard_ns) / 1000000;
    return ms < FORWARD_SILENCE_MS ? (int)(FORWARD_SILENCE_MS - ms) : 0;
}

/* While the caller takes no answers, the owner is not listened to. */
static int wait_ms(const struct guest *g)
{
    if (g->out.len == 0)
        return silence(g);
    return g->stopping ? STOP_GRACE_MS : -1;
}

/* Until the owner has ended and all that it said is passed on; false when nobody reads that. */
static bool relay(struct guest *g)
{
    for (bool shut = false;;) {
        if (guest_stop_asked() && !g->stopping)
            ask_to_stop(g);
        bool up_full = g->up_at < g->up_n && !g->up_broken;
        bool out_full = g->out.len > 0;
        if ((g->down_over || (g->stopping && !g->calls.first)) && !out_full)
            return true;
        if (g->up_over && !up_full && !shut) {
            shut = true; /* answers may still come */
            if (shutdown(g->sock, SHUT_WR) < 0 && errno != ENOTCONN) {
                fail_guest(g, "telling the session's owner that no more calls come");
                g->down_over = true;
                continue;
            }
        }
        struct pollfd fds[] = {
            {up_full || g->up_over || g->up_broken || g->down_over ? -1 : STDIN_FILENO, POLLIN, 0},
            {g->down_over || (!up_full && out_full) ? -1 : g->sock,
             (short)((up_full ? POLLOUT : 0) | (out_full ? 0 : POLLIN)), 0},
            {out_full ? STDOUT_FILENO : -1, POLLOUT, 0},
        };
        int ready = guest_stop_poll(&g->stop, fds, ARRAY_LEN(fds), wait_ms(g));
        if (out_full && ready == 0)
            return false;
        if (out_full)
            g->heard_ns = clock_mono_ns();
        if (ready == 0 && silence(g) == 0)
            g->hangs = g->down_over = true;
        if (ready <= 0)
            continue;
        if (up_full && fds[1].revents & (POLLOUT | POLLERR | POLLHUP))
            write_up(g);
        else if (!up_full && fds[0].revents && !(fds[1].revents & (POLLHUP | POLLERR)))
            read_up(g); /* what comes after the owner's end is for the next one */
        if (!out_full && fds[1].revents & (POLLIN | POLLHUP | POLLERR))
            read_down(g);
        else if (out_full && fds[2].revents && !write_out(g))
            return false;
    }
}

/* `answered`: calls just were, and their caller may have more. */
static int patience(const struct guest *g, uint64_t end_ns, bool answered)
{
    uint64_t now = clock_mono_ns();
    int left = now >= end_ns ? 0 : (int)((end_ns - now) / 1000000);
    int most = guest_calls_in_line(&g->calls) ? REST_MS : g->calls.first || answered ? NEXT_MS : 0;
    return left < most ? left : most;
}

static bool may_read_on(const struct guest *g, uint64_t end_ns, uint64_t end_bytes)
{
    return !g->up_over && !guest_stop_asked() && (g->goodbye || guest_calls_in_line(&g->calls)) &&
           clock_mono_ns() < end_ns && g->calls.bytes < end_bytes;
}

/* The rest of a line that was begun. Where this process ends too, all that the caller has written by now, or is
 * about to; else the session's next owner reads that. */
static void read_rest(struct guest *g, uint64_t end_ns, uint64_t end_bytes, bool answered)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    while (may_read_on(g, end_ns, end_bytes) &&
           guest_stop_poll(&g->stop, &in, 1, patience(g, end_ns, answered)) > 0)
        read_up(g);
    g->torn = !g->up_over && guest_calls_in_line(&g->calls);
    if (!g->up_over)
        guest_calls_take_end(&g->calls);
}

static bool write_all_out(struct guest *g)
{
    while (g->out.len) {
        struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
        int ready = guest_stop_poll(&g->stop, &out, 1, guest_stop_asked() ? STOP_GRACE_MS : -1);
        if (ready == 0 || (ready > 0 && !write_out(g)))
            return false;
    }
    return true;
}

/* Answers what the owner did not, and what callers write when they read that. False when nobody reads. */
static bool answer_rest(struct guest *g, size_t *ret_cut)
{
    uint64_t end_ns = clock_mono_ns() + REST_ALL_MS * 1000000ull;
    uint64_t end_bytes = g->calls.bytes + REST_BYTES;
    *ret_cut = 0;
    for (bool more = true, answered = false; more; answered = true) {
        read_rest(g, end_ns, end_bytes, answered);
        size_t cut = guest_calls_interrupt(&g->calls, g->sent, g->hangs, &g->out);
        *ret_cut += cut;
        if (!write_all_out(g))
            return false;
        more = cut > 0 && g->goodbye && !g->torn && may_read_on(g, end_ns, end_bytes);
    }
    return true;
}

int guest_relay(int sock, enum format_id format, const struct dialect *dialect, bool *ret_again)
{
    *ret_again = false;
    struct guest *g = calloc(1, sizeof *g);
    if (!g) {
        log_error("not enough memory to pass calls on");
        return EXIT_TOOL_ERROR;
    }
    g->sock = sock;
    g->partial = g->out = BUF_INIT(ANSWER_MAX);
    guest_calls_init(&g->calls, format, dialect);
    fd_set_nonblock(sock);
    guest_stop_begin(&g->stop);
    int status = EXIT_TOOL_ERROR;
    if (relay(g)) {
        size_t cut;
        bool written = answer_rest(g, &cut);
        status = written && cut == 0 && !g->failed ? EXIT_OK : EXIT_TOOL_ERROR;
        *ret_again = written && !g->goodbye && !g->up_over && !g->torn && !guest_stop_asked();
    }
    guest_stop_end(&g->stop);
    guest_calls_done(&g->calls);
    buf_done(&g->partial);
    buf_done(&g->out);
    free(g);
    return status;
}
