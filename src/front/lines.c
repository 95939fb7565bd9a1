#include "front/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/awake.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "base/reserve.h"
#include "front/lines_ids.h"

#define CHUNK (64u << 10)
/* Buffers up to this size are kept for the next answer. */
#define OUT_KEEP (2u << 20)
#define PIPE_BYTES (512 << 10)
/* With this much unsent or on its way, no more calls are taken until the other side has taken answers. */
#define EXPECTED_MAX ((size_t)64 << 20)
/* With this much unsent, lines that may be left out are. */
#define UNSENT_MAX ((size_t)4 << 20)
/* Escaping makes at most six bytes of one. */
#define ANSWER_GROWTH ((size_t)6)
/* Longer than a caller takes to be woken and to answer an answer. */
#define AWAKE_NS 30000u

struct lines {
    struct gate *gate;
    const struct lines_user *user;
    void *self;
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
    bool in_pipe; /* or a socket: reading it never waits */
    int in_fd;
    bool reading;
    bool input_ended; /* nothing more comes, though lines may be held */
    bool input_over;
    bool gone;    /* nobody reads the answers any more */
    int in_error; /* that reading or writing ended with; 0 or an errno */
    int out_error;
    bool told;
    char chunk[CHUNK];
    struct buf partial; /* a line that is not complete */
    struct buf held;    /* lines that were read but have to wait */
    bool skipping;      /* the rest of a line that was too long */
    struct awake awake; /* for the next line */
    struct lines_ids ids;

    struct lines_call *calls;
    struct buf out;
    uv_poll_t writable;
    bool write_waits;
    bool out_polls; /* out_fd can be waited for */
};

static bool must_wait(const struct lines *l)
{
    return pipeline_in_flight(&l->gate->pipeline) >= l->max_in_flight ||
           l->gate->pipeline.expected + l->out.len > EXPECTED_MAX;
}

static void maybe_end(struct lines *l)
{
    bool unsent = l->out.len > 0 && !l->gone;
    if (!l->input_over || l->calls || unsent || l->partial.len || l->held.len || l->told)
        return;
    l->told = true;
    l->ended(l->arg);
}

struct buf *lines_begin_answer(struct lines *l)
{
    if (l->gone)
        return NULL;
    l->out.max = l->out.len + l->max_answer;
    return &l->out;
}

void lines_end_answer(struct lines *l)
{
    RESERVE_OPEN_HERE;
    l->out.max = l->out.len + 1;
    buf_add_char(&l->out, '\n');
    if (l->out.no_memory)
        abort(); /* half an answer is none, and would spoil the next */
}

bool lines_has_room(const struct lines *l)
{
    return l->out.len < UNSENT_MAX;
}

bool lines_beat(struct lines *l)
{
    return !l->user->beat || l->user->beat(l->self);
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

static void take_line(struct lines *l, const char *text, size_t n)
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

static void take_chunk(struct lines *l, size_t n)
{
    take_text(l, l->chunk, n);
    if (must_wait(l))
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

/* Stays awake for the next line where that is likely to be near. The end and errors are left to the loop. */
static void read_ahead(struct lines *l)
{
    if (!processor_in_turns() || !awake_begin(&l->awake, AWAKE_NS))
        return;
    ssize_t n;
    do
        n = read(l->in_fd, l->chunk, sizeof l->chunk);
    while (n < 0 && errno == EAGAIN && awake_goes_on(&l->awake));
    awake_end(&l->awake, n > 0);
    if (n > 0)
        take_chunk(l, (size_t)n);
}

static void read_file(uv_idle_t *idle)
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
        uv_idle_start(&l->in.idle, read_file);
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

static void other_side_gone(struct lines *l)
{
    l->gone = true;
    l->out.len = 0;
    lines_stop(l, "the caller is gone");
}

int lines_error(const struct lines *l, const char **ret_what)
{
    *ret_what = l->in_error ? "reading requests" : "writing answers";
    return l->in_error ? l->in_error : l->out_error;
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
        } else if (errno == EAGAIN) {
            /* The loop could not be told to watch it. */
            (void)!poll(&(struct pollfd){l->out_fd, POLLOUT, 0}, 1, -1);
        } else if (errno != EINTR) {
            l->out_error = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
            other_side_gone(l);
            return;
        }
    }
    if (sent == l->out.len)
        buf_reset(&l->out, OUT_KEEP);
    else
        buf_consume(&l->out, sent);
}

static void on_closed(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    other_side_gone(poll->data);
}

/* Who has closed both ends has died: nobody will take what running calls bring. Only that is reported here; who
 * merely has no more calls still reads. */
static void watch_for_end(struct lines *l)
{
    if (l->input_ended && l->calls && l->out_polls && !l->gone &&
        !uv_is_active((uv_handle_t *)&l->writable))
        uv_poll_start(&l->writable, UV_PRIORITIZED, on_closed);
}

void lines_flush(struct lines *l)
{
    if (l->user->before_send)
        l->user->before_send(l->self);
    bool answered = l->out.len && !l->write_waits && !l->gone;
    if (answered)
        send_out(l);
    watch_for_end(l);
    take_held(l);
    if (l->held.len == 0 && l->input_ended && !l->input_over)
        end_of_input(l);
    if (l->held.len == 0 && !must_wait(l))
        start_reading(l);
    if (answered && l->reading && l->in_pipe && pipeline_in_flight(&l->gate->pipeline) == 0)
        read_ahead(l);
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
    awake_reset(&l->awake);
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

static void closed(uv_handle_t *handle)
{
    struct lines *l = handle->data;
    if (handle == &l->in.handle && l->out_polls) {
        uv_close((uv_handle_t *)&l->writable, closed);
        return;
    }
    fd_closep(&l->out_fd);
    if (l->in_file) /* else its handle has closed it */
        fd_closep(&l->in_fd);
    buf_done(&l->partial);
    buf_done(&l->held);
    buf_done(&l->out);
    l->user->free(l->self);
    free(l);
}

void lines_free(struct lines *l)
{
    if (l->user->leave)
        l->user->leave(l->self);
    uv_close(&l->in.handle, closed);
}
