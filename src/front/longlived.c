#include "front/longlived.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/notice.h"
#include "session/review.h"

#define STOP_GRACE_MS 3000

struct longlived {
    struct gate gate;
    struct lines *lines;
    struct forward *forward; /* a session with a name: serves other gates too */
    struct line_sessions *sessions;
    struct pipeline_listener turns;
    bool
        guests_first; /* in every second turn, since whoever is the first gets the room that there is */
    uv_signal_t term;
    uv_timer_t grace;
    uv_signal_t interrupt;
    uv_signal_t hangup;
    uv_signal_t quit;
    bool ended; /* standard input is at its end and answered */
    bool over;
};

static void note_input_ended(void *arg)
{
    struct longlived *s = arg;
    s->ended = true;
}

static void give_up_unsent(uv_timer_t *timer)
{
    struct longlived *s = timer->data;
    if (!s->ended)
        lines_give_up(s->lines);
    if (s->forward)
        forward_give_up(s->forward);
    line_sessions_give_up(s->sessions);
}

/* Who is told to stop does not wait for ever for readers that do not read. */
static void start_grace(struct longlived *s)
{
    if (!uv_is_active((uv_handle_t *)&s->grace))
        uv_timer_start(&s->grace, give_up_unsent, STOP_GRACE_MS, STOP_GRACE_MS);
}

static void flush_guests(struct longlived *s)
{
    if (s->forward)
        forward_flush(s->forward);
    line_sessions_flush(s->sessions);
}

/* All guests are answered and gone. */
static bool wind_guests_down(struct longlived *s)
{
    bool done = line_sessions_wind_down(s->sessions);
    return (!s->forward || forward_wind_down(s->forward)) && done;
}

static void flush_connections(void *arg)
{
    struct longlived *s = arg;
    s->guests_first = !s->guests_first;
    if (s->guests_first)
        flush_guests(s);
    if (!s->ended)
        lines_flush(s->lines);
    /* Stopped first, flushed then: an idle connection brings no event that would lead here again. */
    if (s->ended && !wind_guests_down(s))
        start_grace(s);
    if (!s->guests_first || s->ended)
        flush_guests(s);
    if (!s->ended || !wind_guests_down(s))
        return;
    s->over = true;
    uv_stop(&s->gate.loop);
}

static void on_stop_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct longlived *s = handle->data;
    lines_stop(s->lines, "the gate is shutting down");
    start_grace(s);
}

static void watch_stop_signal(struct longlived *s, uv_signal_t *handle, int signum)
{
    /* Where that fails, the signal ends this process at once, and the kernel all that it started. */
    if (uv_signal_init(&s->gate.loop, handle) < 0)
        return;
    handle->data = s;
    (void)uv_signal_start(handle, on_stop_signal, signum);
    uv_unref((uv_handle_t *)handle);
}

/* Requests that were never read, or answers that nobody got, are no success. */
static int tell_error(const struct lines *lines)
{
    const char *what;
    int error = lines_error(lines, &what);
    if (!error)
        return EXIT_OK;
    log_error("%s: %s", what, strerror(error));
    return EXIT_TOOL_ERROR;
}

struct opening {
    uv_loop_t *loop;
    struct err *err;
    int r; /* 1: not known yet */
};

static void on_layer_mounted(void *arg, const struct call *reply, const struct err *err)
{
    struct opening *o = arg;
    o->r = reply ? 0 : -1;
    if (!reply)
        *o->err = *err;
    uv_stop(o->loop);
}

/* Whoever starts a server hears at once that its changes have nowhere to go, and not with each call. */
static int wait_for_layer(struct gate *gate, struct err *err)
{
    struct opening o = {&gate->loop, err, 1};
    review_wait_open(gate->session, on_layer_mounted, &o);
    while (o.r > 0)
        uv_run(&gate->loop, UV_RUN_DEFAULT);
    return o.r;
}

int longlived_run(const struct gate_options *options, const struct named *named,
                  const char *sessions, longlived_start *start, const void *how)
{
    static struct longlived longlived;
    struct longlived *s = &longlived;
    struct err err;
    if (gate_open(&s->gate, options, &err) < 0)
        return front_usage_error(&err);
    if (options->needs_layer && wait_for_layer(&s->gate, &err) < 0) {
        gate_close(&s->gate);
        log_error("changes cannot be kept in a session's layer here: %s; `sandgate mcp --host`, or "
                  "WORKSPACE_FS_MODE=host, works on the folder itself",
                  err.message);
        return EXIT_USAGE;
    }
    if (named && forward_listen(&s->forward, &s->gate, s->gate.session, named, &err) < 0) {
        gate_close(&s->gate);
        return front_usage_error(&err);
    }
    struct notice notice;
    notice_start(&notice, &s->gate);
    s->sessions = line_sessions_new(&s->gate, sessions, named);
    s->lines = start(&s->gate, s->sessions, how, STDIN_FILENO, STDOUT_FILENO, note_input_ended, s);
    s->turns = (struct pipeline_listener){.turned = flush_connections, .arg = s};
    pipeline_listen(&s->gate.pipeline, &s->turns);
    uv_timer_init(&s->gate.loop, &s->grace);
    s->grace.data = s;
    watch_stop_signal(s, &s->term, SIGTERM);
    watch_stop_signal(s, &s->interrupt, SIGINT);
    if (!front_ignores(SIGHUP))
        watch_stop_signal(s, &s->hangup, SIGHUP);
    if (!front_ignores(SIGQUIT))
        watch_stop_signal(s, &s->quit, SIGQUIT);
    while (!s->over)
        uv_run(&s->gate.loop, UV_RUN_DEFAULT);
    pipeline_unlisten(&s->gate.pipeline, &s->turns);
    int status = tell_error(s->lines);
    notice_stop(&notice);
    forward_close(s->forward);
    line_sessions_free(s->sessions);
    lines_free(s->lines);
    uv_close((uv_handle_t *)&s->grace, NULL);
    if (s->term.data)
        uv_close((uv_handle_t *)&s->term, NULL);
    if (s->interrupt.data)
        uv_close((uv_handle_t *)&s->interrupt, NULL);
    if (s->hangup.data)
        uv_close((uv_handle_t *)&s->hangup, NULL);
    if (s->quit.data)
        uv_close((uv_handle_t *)&s->quit, NULL);
    gate_close(&s->gate);
    return status;
}
