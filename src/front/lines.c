#include "front/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/front.h"
#include "front/hello.h"

#define CHUNK (64u << 10)
/* Buffers up to this size are kept for the next answer. */
#define OUT_KEEP (2u << 20)
#define PIPE_BYTES (512 << 10)
/* With this much unsent or on its way, no more calls are taken until the other side has taken answers. */
#define EXPECTED_MAX ((size_t)64 << 20)
/* Escaping makes at most six bytes of one. */
#define ANSWER_GROWTH ((size_t)6)

struct pending {
    struct pending *next;
    struct pending *prev;
    struct lines *lines;
    struct call *call;
    struct request request;
    size_t expected;
};

struct lines {
    struct gate *gate;
    enum format_id format;
    const struct dialect *dialect;
    bool forwarded; /* another gate's calls, with its own agent */
    char *agent;
    bool hello; /* the first line is still to come and is no call */
    bool once;  /* the exit status follows the answer */
    int out_fd;
    size_t max_request;
    size_t max_answer;
    size_t max_in_flight;
    void (*ended)(void *arg);
    void *arg;

    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
        uv_idle_t idle; /* a regular file is read a piece a turn */
    } in;
    bool in_file;
    int in_fd;
    bool reading;
    bool input_ended; /* nothing more comes, though lines may be held */
    bool input_over;
    bool gone; /* nobody reads the answers any more */
    bool told;
    char chunk[CHUNK];
    struct buf partial; /* a line that is not complete */
    struct buf held;    /* lines that were read but have to wait */
    size_t expected;    /* bytes that the answers of running calls may have */
    bool skipping;      /* the rest of a line that was too long */

    struct pending *calls;
    struct buf out;
    uv_poll_t writable;
    bool write_waits;
    bool out_polls; /* out_fd can be waited for */
};

static void take_text(struct lines *l, const char *text, size_t n);

static bool must_wait(const struct lines *l)
{
    return pipeline_in_flight(&l->gate->pipeline) >= l->max_in_flight ||
           l->expected + l->out.len > EXPECTED_MAX;
}

static void maybe_end(struct lines *l)
{
    bool unsent = l->out.len > 0 && !l->gone;
    if (!l->input_over || l->calls || unsent || l->partial.len || l->held.len || l->told)
        return;
    l->told = true;
    l->ended(l->arg);
}

static void answered(struct call *call)
{
    struct pending *p = call->front;
    struct lines *l = p->lines;
    l->expected -= p->expected;
    if (!l->gone) {
        l->out.max = l->out.len + l->max_answer;
        format_write(l->format, &p->request, call, false, &l->out);
        l->out.max += 32;
        buf_add_char(&l->out, '\n');
        if (l->once)
            buf_addf(&l->out, "{\"exit\":%d}\n", front_status_of(call));
    }
    if (p->next)
        p->next->prev = p->prev;
    if (p->prev)
        p->prev->next = p->next;
    else
        l->calls = p->next;
    request_done(&p->request);
    free(p);
    call_free(call);
}

static struct pending *find_by_id(struct lines *l, const char *id_json)
{
    for (struct pending *p = l->calls; p; p = p->next) {
        if (p->request.id_json && strcmp(p->request.id_json, id_json) == 0)
            return p;
    }
    return NULL;
}

/* {"cancel":ID} is no call and has no answer of its own. */
static bool take_cancel(struct lines *l, yyjson_val *root)
{
    yyjson_val *cancel = yyjson_is_obj(root) ? yyjson_obj_get(root, "cancel") : NULL;
    if (!cancel || yyjson_obj_get(root, "tool_call") || yyjson_obj_get(root, "function"))
        return false;
    FREE_AT_END char *id_json = format_id_json(cancel);
    struct pending *p = id_json ? find_by_id(l, id_json) : NULL;
    if (p)
        pipeline_cancel(p->call, ERR_CANCELLED, "the caller cancelled the call");
    return true;
}

static int read_request(struct lines *l, const char *text, size_t n, struct pending *p,
                        struct err *err)
{
    yyjson_doc *doc = NULL;
    struct json_error why;
    if (json_parse(text, n, l->max_request, JSON_STRICT, &doc, &why) < 0)
        return err_field(err, "", "the line is not valid JSON: %s (at byte %zu)", why.what, why.at);
    if (format_read(l->format, doc, &p->request, err) < 0)
        return -1;
    if (p->request.id_json && find_by_id(l, p->request.id_json))
        return err_field(err, "id", "a call with the id %.60s is still running",
                         p->request.id_json);
    return 0;
}

static void submit(struct lines *l, struct pending *p, int status)
{
    struct call *call = p->call;
    call->failed = status < 0;
    call->id = mem_dup(p->request.id);
    call->name = TAKE_PTR(p->request.name);
    call->doc = TAKE_PTR(p->request.doc);
    call->arguments = p->request.arguments;
    call->front = p;
    call->answer = answered;
    p->next = l->calls;
    if (l->calls)
        l->calls->prev = p;
    l->calls = p;
    pipeline_submit(&l->gate->pipeline, call);
    p->expected = call_expected_bytes(call);
    l->expected += p->expected;
}

static struct pending *pending_new(struct lines *l)
{
    struct pending *p = mem_zero(sizeof *p);
    p->lines = l;
    p->call = gate_call_new(l->gate);
    p->call->dialect = l->dialect;
    if (l->forwarded)
        p->call->agent = l->agent;
    return p;
}

static void take_hello(struct lines *l, const char *text, size_t n)
{
    struct err err;
    struct hello hello;
    struct json_out j = {.out = &l->out};
    l->hello = false;
    bool ok = hello_read((struct str){text, n}, l->gate->dialect, &hello, &err) == 0;
    if (ok) {
        l->dialect = hello.dialect;
        l->format = hello.format;
        l->agent = hello.agent;
        l->once = hello.once;
    }
    jo_open(&j, '{');
    jo_ktext(&j, ok ? "hello" : "error", ok ? "ok" : err.message);
    jo_close(&j, '}');
    buf_add_char(&l->out, '\n');
    if (!ok)
        lines_stop(l, "no hello");
}

static void take_line(struct lines *l, const char *text, size_t n)
{
    while (n && (text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    if (n == 0 || l->input_over)
        return;
    if (l->hello) {
        take_hello(l, text, n);
        return;
    }
    if (n > 10 && n < 4096 && memmem(text, n < 64 ? n : 64, "\"cancel\"", 8)) {
        JSON_AT_END yyjson_doc *doc = NULL;
        if (json_parse(text, n, n, JSON_STRICT, &doc, NULL) == 0 &&
            take_cancel(l, yyjson_doc_get_root(doc)))
            return;
    }
    struct pending *p = pending_new(l);
    submit(l, p, read_request(l, text, n, p, &p->call->err));
}

static void refuse_long_line(struct lines *l)
{
    struct pending *p = pending_new(l);
    err_set(&p->call->err, ERR_TOO_LARGE, "the line is longer than %zu bytes; it was not read",
            l->max_request);
    submit(l, p, -1);
}

static void keep_partial(struct lines *l, const char *text, size_t n)
{
    if (l->partial.len + n > l->max_request) {
        refuse_long_line(l);
        buf_reset(&l->partial, CHUNK);
        l->skipping = true;
        return;
    }
    buf_add(&l->partial, text, n);
}

/* A complete line, of which a beginning may have come before. */
static void complete_line(struct lines *l, const char *text, size_t n)
{
    if (l->skipping) {
        l->skipping = false;
        return;
    }
    if (l->partial.len == 0) {
        if (n > l->max_request)
            refuse_long_line(l);
        else
            take_line(l, text, n);
        return;
    }
    keep_partial(l, text, n);
    if (!l->skipping)
        take_line(l, l->partial.data, l->partial.len);
    l->skipping = false;
    buf_reset(&l->partial, CHUNK);
}

static void take_text(struct lines *l, const char *text, size_t n)
{
    while (n > 0) {
        if (must_wait(l) && !l->input_over) {
            buf_add(&l->held, text, n);
            return;
        }
        const char *newline = memchr(text, '\n', n);
        if (!newline) {
            if (!l->skipping)
                keep_partial(l, text, n);
            return;
        }
        complete_line(l, text, (size_t)(newline - text));
        n -= (size_t)(newline - text) + 1;
        text = newline + 1;
    }
}

/* Takes up the lines that had to wait, as far as there is room now. */
static void take_held(struct lines *l)
{
    if (l->held.len == 0 || must_wait(l))
        return;
    struct buf held = l->held;
    buf_init(&l->held, held.max);
    take_text(l, held.data, held.len);
    buf_done(&held);
}

static void stop_reading(struct lines *l)
{
    if (!l->reading)
        return;
    l->reading = false;
    if (l->in_file)
        uv_idle_stop(&l->in.idle);
    else
        uv_read_stop(&l->in.stream);
}

/* What was cut off at the end counts as a line, once those before it have been taken. */
static void end_of_input(struct lines *l)
{
    stop_reading(l);
    l->input_ended = true;
    if (l->held.len)
        return;
    if (l->partial.len && !l->gone)
        complete_line(l, "", 0);
    l->input_over = true;
    buf_reset(&l->partial, 0);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct lines *l = handle->data;
    *buf = uv_buf_init(l->chunk, sizeof l->chunk);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct lines *l = stream->data;
    if (n < 0) {
        end_of_input(l);
        return;
    }
    take_text(l, buf->base, (size_t)n);
    if (must_wait(l))
        stop_reading(l);
}

static void read_file(uv_idle_t *idle)
{
    struct lines *l = idle->data;
    ssize_t n = fd_read_upto(l->in_fd, l->chunk, sizeof l->chunk);
    if (n <= 0) {
        end_of_input(l);
        return;
    }
    take_text(l, l->chunk, (size_t)n);
    if (must_wait(l))
        stop_reading(l);
}

static void start_reading(struct lines *l)
{
    if (l->reading || l->input_ended || l->input_over)
        return;
    l->reading = true;
    if (l->in_file)
        uv_idle_start(&l->in.idle, read_file);
    else
        uv_read_start(&l->in.stream, give_room, on_read);
}

void lines_expect_hello(struct lines *l)
{
    l->hello = true;
    l->forwarded = true;
}

void lines_stop(struct lines *l, const char *why)
{
    stop_reading(l);
    l->input_over = true;
    buf_reset(&l->partial, 0);
    buf_reset(&l->held, 0);
    for (struct pending *p = l->calls; p; p = p->next)
        pipeline_cancel(p->call, ERR_CANCELLED, why);
}

static void other_side_gone(struct lines *l)
{
    l->gone = true;
    l->out.len = 0;
    lines_stop(l, "the caller is gone");
}

void lines_give_up(struct lines *l)
{
    if (l->input_over && l->out.len)
        other_side_gone(l);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct lines *l = poll->data;
    uv_poll_stop(poll);
    l->write_waits = false;
    lines_flush(l);
}

static void send_out(struct lines *l)
{
    size_t sent = 0;
    while (sent < l->out.len) {
        ssize_t n = write(l->out_fd, l->out.data + sent, l->out.len - sent);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN && l->out_polls) {
            uv_poll_start(&l->writable, UV_WRITABLE, on_writable);
            l->write_waits = true;
            break;
        } else if (errno != EINTR) {
            other_side_gone(l);
            return;
        }
    }
    if (sent == l->out.len)
        buf_reset(&l->out, OUT_KEEP);
    else
        buf_consume(&l->out, sent);
}

void lines_flush(struct lines *l)
{
    if (l->out.len && !l->write_waits && !l->gone)
        send_out(l);
    take_held(l);
    if (l->held.len == 0 && l->input_ended && !l->input_over)
        end_of_input(l);
    if (l->held.len == 0 && !must_wait(l))
        start_reading(l);
    maybe_end(l);
}

static void open_input(struct lines *l)
{
    uv_loop_t *loop = &l->gate->loop;
    uv_handle_type type = uv_guess_handle(l->in_fd);
    l->in_file = type != UV_NAMED_PIPE && type != UV_TTY && type != UV_TCP;
    if (l->in_file) {
        uv_idle_init(loop, &l->in.idle);
    } else if (type == UV_TTY) {
        uv_tty_init(loop, &l->in.tty, l->in_fd, 0);
    } else {
        uv_pipe_init(loop, &l->in.pipe, 0);
        uv_pipe_open(&l->in.pipe, l->in_fd);
    }
    l->in.handle.data = l;
}

struct lines *lines_start(struct gate *gate, enum format_id format, int in_fd, int out_fd,
                          void (*ended)(void *arg), void *arg)
{
    struct lines *l = mem_zero(sizeof *l);
    const struct config *config = gate->config;
    l->gate = gate;
    l->format = format;
    l->dialect = gate->dialect;
    l->in_fd = in_fd;
    l->out_fd = out_fd;
    l->ended = ended;
    l->arg = arg;
    l->max_request = (size_t)config_int(config, "limits.maxRequestBytes");
    l->max_answer = ANSWER_GROWTH * ANSWER_GROWTH *
                    (size_t)config_int(config, "limits.maxReplyBytes");
    l->max_in_flight = (size_t)config_int(config, "limits.maxInFlight");
    buf_init(&l->partial, l->max_request);
    buf_init(&l->held, CHUNK);
    buf_init(&l->out, l->max_answer);
    open_input(l);
    uv_handle_type out = uv_guess_handle(out_fd);
    l->out_polls = (out == UV_NAMED_PIPE || out == UV_TCP) && fd_set_nonblock(out_fd) == 0 &&
                   uv_poll_init(&gate->loop, &l->writable, out_fd) == 0;
    if (l->out_polls) {
        l->writable.data = l;
        /* Large answers then need fewer turns; where it is refused nothing is lost. */
        fcntl(out_fd, F_SETPIPE_SZ, PIPE_BYTES);
    }
    start_reading(l);
    return l;
}

static void closed(uv_handle_t *handle)
{
    struct lines *l = handle->data;
    if (handle == &l->in.handle && l->out_polls) {
        uv_close((uv_handle_t *)&l->writable, closed);
        return;
    }
    fd_closep(&l->out_fd);
    buf_done(&l->partial);
    buf_done(&l->held);
    buf_done(&l->out);
    free(l->agent);
    free(l);
}

void lines_free(struct lines *l)
{
    uv_close(&l->in.handle, closed);
}
