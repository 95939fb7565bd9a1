/* The other side: a call for a session that another gate owns is passed on to it. */
#include <errno.h>
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
#define ANSWER_MAX ((size_t)1 << 30)
/* A gate that runs one call has no socket; it is soon gone. */
#define PATIENCE_MS 2000
#define RETRY_MS 10
/* For the owner's hello: it may be in the middle of something. */
#define HELLO_SECONDS 10
#define HELLO_MAX 8192
#define STATUS_MAX 256

static int connect_owner(const struct named *named)
{
    struct sockaddr_un address;
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    forward_address(named->dir_fd, &address);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* Never SIGPIPE: an owner that is gone is an error like any other. */
static int send_to_owner(int sock, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(sock, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
    }
    return 0;
}

/* Lines of the owner. */
struct reader {
    int sock;
    struct buf bytes;
    size_t taken; /* of them */
};

static void reader_done(struct reader *r)
{
    buf_done(&r->bytes);
}

/* One line, its newline taken off, valid until the next; -1 when the other side ends before it. */
static int read_answer_line(struct reader *r, struct str *ret)
{
    buf_consume(&r->bytes, r->taken);
    r->taken = 0;
    for (size_t looked = 0;;) {
        const char *newline = r->bytes.len > looked
                                  ? memchr(r->bytes.data + looked, '\n', r->bytes.len - looked)
                                  : NULL;
        if (newline) {
            *ret = (struct str){r->bytes.data, (size_t)(newline - r->bytes.data)};
            r->taken = ret->n + 1;
            return 0;
        }
        looked = r->bytes.len;
        if (buf_reserve(&r->bytes, CHUNK) < 0)
            return -1;
        ssize_t n = recv(r->sock, r->bytes.data + r->bytes.len, r->bytes.cap - r->bytes.len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        r->bytes.len += (size_t)n;
    }
}

static void write_hello(const struct options *o, bool once, struct buf *line)
{
    struct json_out j = {.out = line};
    jo_open(&j, '{');
    jo_key(&j, "hello");
    jo_open(&j, '{');
    jo_ktext(&j, "dialect", o->dialect ? o->dialect : "native");
    jo_ktext(&j, "format", o->format ? o->format : "tool_call");
    if (o->agent)
        jo_ktext(&j, "agent", o->agent);
    if (o->agents)
        jo_ktext(&j, "agents", o->agents);
    jo_kbool(&j, "once", once);
    jo_kbool(&j, "marks", !once);
    jo_kbool(&j, "beats", true);
    jo_close(&j, '}');
    jo_close(&j, '}');
    buf_add_char(line, '\n');
}

static int no_answer(struct err *err)
{
    err_set(err, ERR_SESSION_BUSY, "the session's owner does not answer; try again");
    return err_reason(err, FORWARD_SILENT);
}

/* 1: the owner has ended; -1: it refuses, or does not answer. */
static int say_hello(int fd, const struct options *o, bool once, struct err *err)
{
    const struct timeval patience = {.tv_sec = HELLO_SECONDS};
    BUF_AT_END struct buf line = BUF_INIT(HELLO_MAX);
    CLEANUP(reader_done) struct reader from = {.sock = fd, .bytes = BUF_INIT(HELLO_MAX + CHUNK)};
    struct str said;
    write_hello(o, once, &line);
    if (line.failed)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the names of the agents are too long");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* One that has no place for us may have said so and gone. */
    int r = send_to_owner(fd, buf_str(&line));
    if (r < 0 && r != -EPIPE && r != -ECONNRESET)
        return err_set(err, ERR_SESSION_BUSY, "the session's owner cannot be reached: %s",
                       strerror(-r));
    errno = 0;
    if (read_answer_line(&from, &said) < 0)
        return errno == EAGAIN ? no_answer(err) : 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0}, sizeof patience);
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(said.p, said.n, HELLO_MAX, JSON_STRICT, &doc, NULL) < 0)
        return no_answer(err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *refusal = yyjson_get_str(yyjson_obj_get(root, "error"));
    if (refusal) {
        err_set(err, ERR_SESSION_BUSY, "%s", refusal);
        return yyjson_get_bool(yyjson_obj_get(root, "full")) ? err_reason(err, FORWARD_FULL) : -1;
    }
    if ((!once && !yyjson_get_bool(yyjson_obj_get(root, "marks"))) ||
        !yyjson_get_bool(yyjson_obj_get(root, "beats")))
        return err_set(err, ERR_SESSION_BUSY,
                       "the session's owner is another version of this program");
    return 0;
}

int forward_reach(struct named *named, const struct options *o, bool once, int *ret_socket,
                  struct err *err)
{
    /* Whoever does not read is told of by the write. */
    signal(SIGPIPE, SIG_IGN);
    for (int waited = 0; waited <= PATIENCE_MS; waited += RETRY_MS) {
        int r = named_lock(named, true, err);
        if (r != 0)
            return r;
        FD_AT_END int fd = connect_owner(named);
        r = fd >= 0 ? say_hello(fd, o, once, err) : 1;
        if (r < 0)
            return -1;
        if (r == 0) {
            *ret_socket = TAKE_FD(fd);
            return 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
    err_set(err, ERR_SESSION_BUSY,
            "session %s is in use by another process that takes no calls; try again", named->id);
    return err_reason(err, FORWARD_SILENT);
}

/* {"id":"1","result":R} is printed as R, as a gate of its own would. */
static struct str bare_answer(enum format_id format, struct str answer)
{
    static const char before[] = "{\"id\":\"1\",\"result\":";
    size_t n = sizeof before - 1;
    if (format != FORMAT_TOOL_CALL || answer.n < n + 1 || memcmp(answer.p, before, n) != 0)
        return answer;
    return (struct str){answer.p + n, answer.n - n - 1};
}

/* What says only that the owner is there is passed over. */
static int read_answer(struct reader *r, struct str *ret)
{
    int status;
    do
        status = read_answer_line(r, ret);
    while (status == 0 && ret->n && ret->p[0] == FORWARD_MARK);
    return status;
}

int forward_one(int sock, enum format_id format, const char *tool, struct str arguments,
                int *ret_status, struct err *err)
{
    BUF_AT_END struct buf line = BUF_INIT(ANSWER_MAX);
    CLEANUP(reader_done) struct reader from = {.sock = sock, .bytes = BUF_INIT(ANSWER_MAX)};
    JSON_AT_END yyjson_doc *doc = NULL;
    struct str answer;
    struct str status;
    const struct timeval silence = {.tv_sec = FORWARD_SILENCE_MS / 1000};
    format_write_call(format, tool, arguments, &line);
    buf_add_char(&line, '\n');
    if (line.failed)
        return err_set(err, ERR_TOO_LARGE, "the call is longer than %zu bytes", ANSWER_MAX);
    /* An owner does nothing before it has the whole line. */
    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence);
    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
    int sent = send_to_owner(sock, buf_str(&line));
    if (sent < 0)
        return sent == -EAGAIN ? no_answer(err) : 1;
    errno = 0;
    if (read_answer(&from, &answer) < 0)
        return err_set(err, ERR_INTERRUPTED,
                       errno == EAGAIN ? FORWARD_HANGS
                                       : "the session's owner ended before it answered; what was "
                                         "asked may be done, look before repeating it");
    if (front_print(bare_answer(format, answer)) < 0) {
        *ret_status = EXIT_TOOL_ERROR;
        return 0;
    }
    bool known = read_answer(&from, &status) == 0 &&
                 json_parse(status.p, status.n, STATUS_MAX, JSON_STRICT, &doc, NULL) == 0;
    *ret_status = known ? (int)yyjson_get_int(yyjson_obj_get(yyjson_doc_get_root(doc), "exit"))
                        : EXIT_TOOL_ERROR;
    return 0;
}
