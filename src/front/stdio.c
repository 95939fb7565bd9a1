/* `sandgate stdio`: JSON lines on standard input and output, many calls in flight. */
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/lines.h"

#define STOP_GRACE_MS 3000
#define OPTIONS (OPTIONS_SHAPE | OPTIONS_PLACE | OPTIONS_IDENTITY)

struct stdio {
    struct gate gate;
    struct lines *lines;
    struct forward *forward; /* a session with a name: serves other gates too */
    uv_signal_t term;
    uv_timer_t grace;
    uv_signal_t interrupt;
    bool ended; /* standard input is at its end and answered */
    bool over;
};

static void ended(void *arg)
{
    struct stdio *s = arg;
    s->ended = true;
}

static void give_up(uv_timer_t *timer)
{
    struct stdio *s = timer->data;
    if (!s->ended)
        lines_give_up(s->lines);
    if (s->forward)
        forward_give_up(s->forward);
}

/* Who is told to stop does not wait for ever for readers that do not read. */
static void start_grace(struct stdio *s)
{
    if (!uv_is_active((uv_handle_t *)&s->grace))
        uv_timer_start(&s->grace, give_up, STOP_GRACE_MS, STOP_GRACE_MS);
}

static void flush(void *arg)
{
    struct stdio *s = arg;
    if (!s->ended)
        lines_flush(s->lines);
    /* Stopped first, flushed then: an idle connection brings no event that would lead here again. */
    if (s->ended && s->forward) {
        forward_wind_down(s->forward);
        start_grace(s);
    }
    if (s->forward)
        forward_flush(s->forward);
    if (!s->ended || (s->forward && !forward_wind_down(s->forward)))
        return;
    s->over = true;
    uv_stop(&s->gate.loop);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct stdio *s = handle->data;
    lines_stop(s->lines, "the gate is shutting down");
    start_grace(s);
}

static void watch(struct stdio *s, uv_signal_t *handle, int signum)
{
    uv_signal_init(&s->gate.loop, handle);
    handle->data = s;
    uv_signal_start(handle, on_signal, signum);
    uv_unref((uv_handle_t *)handle);
}

static int help(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(
        &out,
        "usage: sandgate stdio [options]\n\n"
        "Reads one call a line from standard input and writes one answer a line, in the order "
        "they finish:\n"
        "  {\"id\":\"1\",\"tool_call\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}}\n"
        "{\"cancel\":\"1\"} stops a call.\n\n");
    options_help(OPTIONS, &out);
    return fd_write_all(STDOUT_FILENO, out.data, out.len) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

static int serve(struct stdio *s, const struct gate_options *go, const struct named *named,
                 enum format_id format)
{
    struct err err;
    if (gate_open(&s->gate, go, &err) < 0)
        return front_usage_error(&err);
    if (named && forward_listen(&s->forward, &s->gate, named, &err) < 0) {
        gate_close(&s->gate);
        return front_usage_error(&err);
    }
    s->lines = lines_start(&s->gate, format, STDIN_FILENO, STDOUT_FILENO, ended, s);
    s->gate.pipeline.settled = flush;
    s->gate.pipeline.settled_arg = s;
    uv_timer_init(&s->gate.loop, &s->grace);
    s->grace.data = s;
    watch(s, &s->term, SIGTERM);
    watch(s, &s->interrupt, SIGINT);
    session_warm_up(s->gate.session);
    while (!s->over)
        uv_run(&s->gate.loop, UV_RUN_DEFAULT);
    s->gate.pipeline.settled = NULL;
    forward_close(s->forward);
    lines_free(s->lines);
    uv_close((uv_handle_t *)&s->grace, NULL);
    uv_close((uv_handle_t *)&s->term, NULL);
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    gate_close(&s->gate);
    return EXIT_OK;
}

static int serve_session(struct stdio *s, const struct options *o, struct gate_options *go,
                         enum format_id format)
{
    struct err err;
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    FD_AT_END int owner = -1;
    int r = front_take_session(o, false, &named, &owner, &err);
    if (r < 0)
        return front_usage_error(&err);
    if (r == 0)
        return forward_relay(owner);
    front_use_session(go, &named);
    return serve(s, go, &named, format);
}

int front_stdio(int argc, char *const *argv)
{
    static struct stdio s;
    struct options o;
    struct err err;
    enum format_id format;
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (options_read(argc, argv, OPTIONS, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help();
    if (format_find(o.format ? o.format : "tool_call", &format, &err) < 0 ||
        front_gate_options(&o, &go, &state_path, &err) < 0)
        return front_usage_error(&err);
    return o.session ? serve_session(&s, &o, &go, format) : serve(&s, &go, NULL, format);
}
