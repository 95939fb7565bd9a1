/* The other side: a call for a session that another gate owns is passed on to it. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/forward.h"
#include "front/forward_path.h"
#include "front/front.h"

#define CHUNK (64u << 10)
#define ANSWER_MAX (1u << 30)
/* A gate that runs one call has no socket; it is soon gone. */
#define PATIENCE_MS 2000
#define RETRY_MS 10

static int connect_owner(const struct named *named)
{
    struct sockaddr_un address;
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    forward_address(named->dir_fd, &address);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* One line, its newline taken off; -1 when the other side ends before it. */
static int read_line(int fd, struct buf *line)
{
    line->len = 0;
    for (char c;;) {
        ssize_t n = read(fd, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || (c != '\n' && buf_add_char(line, c) < 0))
            return -1;
        if (c == '\n')
            return 0;
    }
}

static int say_hello(int fd, const struct options *o, bool once, struct err *err)
{
    BUF_AT_END struct buf line = BUF_INIT(8192);
    struct json_out j = {.out = &line};
    jo_open(&j, '{');
    jo_key(&j, "hello");
    jo_open(&j, '{');
    jo_ktext(&j, "dialect", o->dialect ? o->dialect : "native");
    jo_ktext(&j, "format", o->format ? o->format : "tool_call");
    if (o->agent)
        jo_ktext(&j, "agent", o->agent);
    jo_kbool(&j, "once", once);
    jo_close(&j, '}');
    jo_close(&j, '}');
    buf_add_char(&line, '\n');
    JSON_AT_END yyjson_doc *doc = NULL;
    if (line.failed || fd_write_all(fd, line.data, line.len) < 0 || read_line(fd, &line) < 0 ||
        json_parse(line.data, line.len, line.max, JSON_STRICT, &doc, NULL) < 0)
        return err_set(err, ERR_SESSION_BUSY, "the session's owner does not answer; try again");
    const char *refusal = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "error"));
    return refusal ? err_set(err, ERR_SESSION_BUSY, "%s", refusal) : 0;
}

int forward_reach(struct named *named, const struct options *o, bool once, int *ret_socket,
                  struct err *err)
{
    signal(SIGPIPE, SIG_IGN); /* an owner that is gone is an error like any other */
    for (int waited = 0; waited <= PATIENCE_MS; waited += RETRY_MS) {
        int r = named_lock(named, err);
        if (r != 0)
            return r;
        FD_AT_END int fd = connect_owner(named);
        if (fd >= 0) {
            if (say_hello(fd, o, once, err) < 0)
                return -1;
            *ret_socket = TAKE_FD(fd);
            return 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
    return err_set(err, ERR_SESSION_BUSY,
                   "session %s is in use by another process that takes no calls; try again",
                   named->id);
}

/* One direction. It reads only when it has nothing to write and never waits in a write: the owner stops
 * reading while its answers are not taken, so waiting for either side alone is a deadlock. */
struct half {
    int from;
    int to;
    char bytes[CHUNK];
    size_t at;
    size_t n;
    bool over; /* nothing more comes */
};

static bool half_step(struct half *h, bool from_events, bool to_events)
{
    if (h->at < h->n && to_events) {
        /* A pipe that can be written to takes this much at once. */
        size_t n = h->n - h->at < PIPE_BUF ? h->n - h->at : PIPE_BUF;
        ssize_t done = write(h->to, h->bytes + h->at, n);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        h->at += done > 0 ? (size_t)done : 0;
    } else if (h->at == h->n && from_events) {
        ssize_t n = read(h->from, h->bytes, sizeof h->bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return true;
        h->at = 0;
        h->n = n > 0 ? (size_t)n : 0;
        h->over = n <= 0;
        return n >= 0 || errno == ECONNRESET;
    }
    return true;
}

static int relay_failed(const char *what)
{
    log_error("%s: %s", what, strerror(errno));
    return EXIT_TOOL_ERROR;
}

int forward_relay(int sock)
{
    static struct half up;
    static struct half down;
    up.from = STDIN_FILENO;
    up.to = down.from = sock;
    down.to = STDOUT_FILENO;
    fd_set_nonblock(sock);
    for (bool shut = false;;) {
        bool up_full = up.at < up.n;
        bool down_full = down.at < down.n;
        if (up.over && !up_full && !shut) {
            shut = true; /* answers may still come */
            if (shutdown(sock, SHUT_WR) < 0 && errno != ENOTCONN)
                return relay_failed("telling the session's owner that no more calls come");
        }
        struct pollfd fds[] = {
            {up_full || up.over ? -1 : up.from, POLLIN, 0},
            {sock, (short)((up_full ? POLLOUT : 0) | (down_full ? 0 : POLLIN)), 0},
            {down_full ? down.to : -1, POLLOUT, 0},
        };
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR && errno != EAGAIN)
            return relay_failed("waiting for calls and answers");
        bool in = fds[1].revents & (POLLIN | POLLHUP | POLLERR);
        bool out = fds[1].revents & (POLLOUT | POLLERR);
        if (!half_step(&up, fds[0].revents != 0, out) || !half_step(&down, in, fds[2].revents != 0))
            return relay_failed("passing calls on to the session's owner");
        if (down.over && down.at == down.n)
            return EXIT_OK;
    }
}

/* {"id":"1","result":R} is printed as R, as a gate of its own would. */
static struct str bare(enum format_id format, struct str answer)
{
    static const char before[] = "{\"id\":\"1\",\"result\":";
    size_t n = sizeof before - 1;
    if (format != FORMAT_TOOL_CALL || answer.n < n + 1 || memcmp(answer.p, before, n) != 0)
        return answer;
    return (struct str){answer.p + n, answer.n - n - 1};
}

int forward_one(int sock, enum format_id format, const char *tool, struct str arguments)
{
    BUF_AT_END struct buf line = BUF_INIT(ANSWER_MAX);
    BUF_AT_END struct buf status = BUF_INIT(256);
    JSON_AT_END yyjson_doc *doc = NULL;
    struct err err;
    format_write_call(format, tool, arguments, &line);
    buf_add_char(&line, '\n');
    if (line.failed || fd_write_all(sock, line.data, line.len) < 0 || read_line(sock, &line) < 0 ||
        read_line(sock, &status) < 0 ||
        json_parse(status.data, status.len, status.max, JSON_STRICT, &doc, NULL) < 0) {
        err_set(&err, ERR_INTERRUPTED, "the session's owner ended before it answered");
        front_usage_error(&err);
        return EXIT_TOOL_ERROR;
    }
    struct str answer = bare(format, buf_str(&line));
    if (front_print(answer) < 0)
        return EXIT_TOOL_ERROR;
    return (int)yyjson_get_int(yyjson_obj_get(yyjson_doc_get_root(doc), "exit"));
}
