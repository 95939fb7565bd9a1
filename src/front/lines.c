#include "front/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/lines_parts.h"

#define PIPE_BYTES (512 << 10)
/* Escaping makes at most six bytes of one. */
#define ANSWER_GROWTH ((size_t)6)

static void maybe_end(struct lines *l)
{
    bool unsent = lines_unsent(l) > 0 && !l->gone;
    if (!l->input_over || l->calls || unsent || l->partial.len || l->held.len || l->told)
        return;
    l->told = true;
    l->ended(l->arg);
}

bool lines_beat(struct lines *l)
{
    return !l->user->beat || l->user->beat(l->self);
}

bool lines_hold_back(const struct lines *l)
{
    return l->held.len || (!l->reading && !l->input_ended && !l->input_over);
}

struct lines_call *lines_calls(const struct lines *l)
{
    return l->calls;
}

struct lines_call *lines_find(struct lines *l, const char *id_json)
{
    return lines_ids_find(&l->ids, id_json);
}

void lines_submit(struct lines *l, struct lines_call *c)
{
    c->lines = l;
    if (c->id_json)
        lines_ids_keep(&l->ids, c);
    c->next = l->calls;
    if (l->calls)
        l->calls->prev = c;
    l->calls = c;
    c->call->copies = l->user->copies;
    c->call->client = l->client;
    pipeline_submit(&l->gate->pipeline, c->call);
}

void lines_drop(struct lines_call *c)
{
    struct lines *l = c->lines;
    if (c->id_json)
        lines_ids_forget(&l->ids, c);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        l->calls = c->next;
}

static void take_input_line(struct lines *l, const char *text, size_t n)
{
    while (n && (text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    if (n == 0 || l->input_over)
        return;
    l->user->take(l->self, (struct str){text, n});
}

static void keep_partial(struct lines *l, const char *text, size_t n)
{
    if (l->partial.len == 0 && lines_is_blank((struct str){text, n}))
        return;
    bool fits = l->partial.len + n <= l->max_request;
    if (fits && buf_add(&l->partial, text, n) == 0)
        return;
    if (fits)
        l->user->no_room(l->self, l->partial.len ? buf_str(&l->partial) : (struct str){text, n});
    else
        l->user->too_long(l->self, l->max_request);
    buf_reset(&l->partial, CHUNK);
    l->skipping = true;
}

/* A complete line, of which a beginning may have come before. */
static void complete_line(struct lines *l, const char *text, size_t n)
{
    if (l->skipping) {
        l->skipping = false;
        return;
    }
    if (l->partial.len == 0) {
        if (n > l->max_request && !lines_is_blank((struct str){text, n}))
            l->user->too_long(l->self, l->max_request);
        else
            take_input_line(l, text, n);
        return;
    }
    keep_partial(l, text, n);
    if (!l->skipping)
        take_input_line(l, l->partial.data, l->partial.len);
    l->skipping = false;
    buf_reset(&l->partial, CHUNK);
}

static void take_input_text(struct lines *l, const char *text, size_t n)
{
    while (n > 0) {
        if (lines_must_wait(l) && !l->input_over) {
            buf_must_add(&l->held, text, n); /* what is lost would never be answered */
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
    if (l->held.len == 0 || lines_must_wait(l))
        return;
    struct buf held = l->held;
    buf_init(&l->held, held.max);
    take_input_text(l, held.data, held.len);
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

static void take_chunk(struct lines *l, size_t n)
{
    take_input_text(l, l->chunk, n);
    if (lines_must_wait(l))
        stop_reading(l);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct lines *l = stream->data;
    (void)buf; /* the chunk, by give_room */
    if (n >= 0) {
        take_chunk(l, (size_t)n);
        return;
    }
    l->in_error = n == UV_EOF || n == UV_ECONNRESET ? 0 : (int)-n;
    end_of_input(l);
}

static void read_input_file(uv_idle_t *idle)
{
    struct lines *l = idle->data;
    ssize_t n = fd_read_upto(l->in_fd, l->chunk, sizeof l->chunk);
    if (n > 0) {
        take_chunk(l, (size_t)n);
        return;
    }
    l->in_error = (int)-n;
    end_of_input(l);
}

static void start_reading(struct lines *l)
{
    if (l->reading || l->input_ended || l->input_over)
        return;
    l->reading = true;
    if (l->in_file)
        uv_idle_start(&l->in.idle, read_input_file);
    else
        uv_read_start(&l->in.stream, give_room, on_read);
}

void lines_stop(struct lines *l, const char *why)
{
    stop_reading(l);
    if (l->user->stopped)
        l->user->stopped(l->self);
    l->input_over = true;
    buf_reset(&l->partial, 0);
    buf_reset(&l->held, 0);
    for (struct lines_call *c = l->calls; c; c = c->next)
        pipeline_cancel(c->call, ERR_CANCELLED, why);
}

void lines_lose_reader(struct lines *l)
{
    l->gone = true;
    lines_forget_unsent(l);
    lines_stop(l, "the caller is gone");
}

int lines_error(const struct lines *l, const char **ret_what)
{
    *ret_what = l->in_error ? "reading requests" : "writing answers";
    return l->in_error ? l->in_error : l->out_error;
}

void lines_give_up(struct lines *l)
{
    if (l->input_over && lines_unsent(l))
        lines_lose_reader(l);
}

static void on_reader_closed(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    lines_lose_reader(poll->data);
}

/* Who has closed both ends has died: nobody will take what running calls bring. Only that is reported here; who
 * merely has no more calls still reads. */
static void watch_for_end(struct lines *l)
{
    if (l->input_ended && l->calls && l->out_polls && !l->gone &&
        !uv_is_active((uv_handle_t *)&l->writable))
        uv_poll_start(&l->writable, UV_PRIORITIZED, on_reader_closed);
}

void lines_flush(struct lines *l)
{
    if (l->user->before_send)
        l->user->before_send(l->self);
    if (lines_unsent(l) && !l->write_waits && !l->gone)
        lines_send(l);
    watch_for_end(l);
    take_held(l);
    if (l->held.len == 0 && l->input_ended && !l->input_over)
        end_of_input(l);
    if (l->held.len == 0 && !lines_must_wait(l))
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
        l->in_pipe = uv_pipe_open(&l->in.pipe, l->in_fd) == 0;
    }
    l->in.handle.data = l;
}

/* A pipe that could not be opened, or what is read as a file because nothing could be found out about it: that could
 * wait, and everybody with it. */
static void refuse_unusable(struct lines *l)
{
    struct stat st;
    bool is_pipe = fstat(l->in_fd, &st) == 0 && (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode));
    if (!is_pipe || l->in_pipe)
        return;
    fd_closep(&l->in_fd);
    l->in_error = EINVAL;
    l->input_ended = l->input_over = true;
}

struct lines *lines_start(struct gate *gate, const struct lines_user *user, void *self, int in_fd,
                          int out_fd, void (*ended)(void *arg), void *arg)
{
    struct lines *l = mem_zero(sizeof *l);
    const struct config *config = gate->config;
    l->gate = gate;
    l->client = ++gate->last_client;
    gate->pipeline.clients++;
    l->user = user;
    l->self = self;
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
    l->sealed_end = &l->sealed;
    open_input(l);
    refuse_unusable(l);
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

static void on_lines_closed(uv_handle_t *handle)
{
    struct lines *l = handle->data;
    if (handle == &l->in.handle && l->out_polls) {
        uv_close((uv_handle_t *)&l->writable, on_lines_closed);
        return;
    }
    fd_closep(&l->out_fd);
    if (l->in_file) /* else its handle has closed it */
        fd_closep(&l->in_fd);
    buf_done(&l->partial);
    buf_done(&l->held);
    lines_forget_unsent(l);
    l->user->free(l->self);
    free(l);
}

void lines_free(struct lines *l)
{
    if (l->user->leave)
        l->user->leave(l->self);
    l->gate->pipeline.clients--;
    uv_close(&l->in.handle, on_lines_closed);
}
