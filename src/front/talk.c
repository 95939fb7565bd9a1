#include "front/talk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "front/forward_path.h"
#include "front/front.h"
#include "front/hello.h"
#include "front/live.h"
#include "front/talk_approver.h"
#include "front/word_list.h"

struct talk {
    struct gate *gate;
    struct session *session;        /* of calls that name none */
    struct line_sessions *sessions; /* that they may name; NULL: they may not */
    struct lines *lines;
    enum format_id format;
    const struct dialect *dialect;
    bool forwarded; /* another gate's calls, with its own agent */
    char *agent;
    char *agents;                   /* that lines may name; NULL: none */
    bool hello;                     /* the first line is still to come and is no call */
    bool once;                      /* the exit status follows the answer */
    bool marks;                     /* the number of its line stands before the answer */
    bool beats;                     /* it is told now and then that the gate is there */
    bool goodbye;                   /* was said */
    uint64_t taken;                 /* lines so far */
    bool printed;                   /* commands have, in this turn */
    struct talk_approver *approver; /* NULL: these lines approve nothing */
};

struct pending {
    struct lines_call base;
    struct talk *talk;
    uint64_t number; /* of its line */
    struct request request;
    struct live live;
};

static bool write_talk_output(void *arg, const struct printed *printed, struct buf *out)
{
    const struct pending *p = arg;
    format_write_printed(p->talk->format, &p->request, printed, out);
    return true;
}

static void on_talk_output(struct call *call, enum stream stream, struct str bytes)
{
    struct pending *p = call->front;
    p->talk->printed = true;
    live_add(&p->live, stream, bytes);
}

static void flush_talk_output(void *self)
{
    struct talk *t = self;
    if (!t->printed)
        return;
    t->printed = false;
    for (struct lines_call *c = lines_calls(t->lines); c; c = c->next)
        live_flush(&((struct pending *)c)->live);
}

static void write_mark(struct talk *t, uint64_t number, bool answer)
{
    struct buf *out = t->marks ? lines_begin_answer(t->lines) : NULL;
    if (!out)
        return;
    buf_addf(out, "%c%" PRIu64, FORWARD_MARK, number);
    if (!answer)
        buf_add_char(out, FORWARD_NO_ANSWER);
    lines_end_answer(t->lines);
}

static void finish_talk_call(struct call *call)
{
    struct pending *p = call->front;
    struct talk *t = p->talk;
    lines_drop(&p->base);
    live_end(&p->live);
    write_mark(t, p->number, true);
    struct buf *out = lines_begin_answer(t->lines);
    if (out) {
        format_write(t->format, &p->request, call, false, out);
        lines_end_answer(t->lines);
    }
    if (out && t->once) {
        buf_addf(lines_begin_answer(t->lines), "{\"exit\":%d}", front_status_of(call));
        lines_end_answer(t->lines);
    }
    live_done(&p->live);
    request_done(&p->request);
    free(p);
    call_free(call);
}

/* {"cancel":ID} is no call and has no answer of its own. */
static bool take_cancel(struct talk *t, yyjson_val *root)
{
    yyjson_val *cancel = yyjson_is_obj(root) ? yyjson_obj_get(root, "cancel") : NULL;
    if (!cancel || yyjson_obj_get(root, "tool_call") || yyjson_obj_get(root, "function"))
        return false;
    FREE_AT_END char *id_json = format_id_json(cancel);
    struct lines_call *c = id_json ? lines_find(t->lines, id_json) : NULL;
    if (c)
        pipeline_cancel(c->call, ERR_CANCELLED, "the caller cancelled the call");
    return true;
}

/* A caller speaks only for the agents that the gate was started for: limits and grants depend on them. */
static int take_agent(const struct talk *t, struct pending *p, struct err *err)
{
    const char *named = p->request.agent;
    const char *own = p->base.call->agent;
    if (!named || (own && strcmp(own, named) == 0))
        return 0;
    if (!word_list_has(t->agents, named)) {
        err_field(err, "context.agentId",
                  "context.agentId is `%.60s`, which is none of the agents that --agents names: "
                  "%.200s",
                  named, t->agents ? t->agents : "none");
        return err_reason(err, "agent_not_listed");
    }
    p->base.call->agent = named;
    return 0;
}

static int take_session(const struct talk *t, struct pending *p, struct err *err)
{
    const char *named = p->request.session;
    if (!named)
        return 0;
    if (!t->sessions)
        return err_field(err, "session",
                         "`session` cannot be used here: these calls belong to the session that "
                         "the connection is for");
    struct session *session = line_sessions_use(t->sessions, named, err);
    if (!session)
        return -1;
    p->base.call->workplace = session_workplace(session);
    return 0;
}

static int read_talk_request(struct talk *t, struct str line, struct pending *p, struct err *err)
{
    yyjson_doc *doc = NULL;
    struct json_error why;
    int r = json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, &why);
    if (r == -ENOMEM) {
        format_scan_id(line, &p->request);
        return err_no_memory(err);
    }
    if (r < 0)
        return err_field(err, "", "the line is not valid JSON: %s (at byte %zu)", why.what, why.at);
    if (format_read(t->format, doc, &p->request, err) < 0)
        return -1;
    if (p->request.id_json && lines_find(t->lines, p->request.id_json))
        return err_field(err, "id", "a call with the id %.60s is still running",
                         p->request.id_json);
    return take_agent(t, p, err) < 0 ? -1 : take_session(t, p, err);
}

static void submit_talk_call(struct talk *t, struct pending *p, int status)
{
    struct call *call = p->base.call;
    call->failed = status < 0;
    call->id = mem_dup(p->request.id);
    call->name = TAKE_PTR(p->request.name);
    call->doc = TAKE_PTR(p->request.doc);
    call->arguments = p->request.arguments;
    call->front = p;
    call->answer = finish_talk_call;
    p->base.id_json = p->request.id_json;
    if (p->request.id_json && !t->once && format_has_printed(t->format))
        call->output = on_talk_output;
    lines_submit(t->lines, &p->base);
}

static struct pending *pending_new(struct talk *t)
{
    struct pending *p = mem_zero(sizeof *p);
    p->talk = t;
    p->number = t->taken;
    p->base.call = gate_call_new(t->gate, t->session);
    p->base.call->dialect = t->dialect;
    live_init(&p->live, t->lines, write_talk_output, p);
    if (t->forwarded)
        p->base.call->agent = t->agent;
    return p;
}

static void take_hello(struct talk *t, struct str line)
{
    struct err err;
    struct hello hello;
    t->hello = false;
    bool ok = hello_read(line, t->gate->dialect, &hello, &err) == 0;
    if (ok) {
        t->dialect = hello.dialect;
        t->format = hello.format;
        t->agent = hello.agent;
        t->agents = hello.agents;
        t->once = hello.once;
        t->marks = hello.marks;
        t->beats = hello.beats;
    }
    struct json_out j = {.out = lines_begin_answer(t->lines)};
    if (j.out) {
        jo_open(&j, '{');
        jo_ktext(&j, ok ? "hello" : "error", ok ? "ok" : err.message);
        if (t->marks)
            jo_kbool(&j, "marks", true);
        if (t->beats)
            jo_kbool(&j, "beats", true);
        jo_close(&j, '}');
        lines_end_answer(t->lines);
    }
    if (!ok)
        lines_stop(t->lines, "no hello");
}

static const char *id_of(void *arg, const char *uid)
{
    const struct talk *t = arg;
    for (struct lines_call *c = lines_calls(t->lines); c; c = c->next) {
        if (strcmp(c->call->uid, uid) == 0)
            return ((struct pending *)c)->request.id_json;
    }
    return NULL;
}

/* An approver's line from someone who is none: a request like any other that means nothing. */
static void refuse_approver(struct talk *t)
{
    struct pending *p = pending_new(t);
    err_field(&p->base.call->err, "",
              t->forwarded
                  ? "nobody approves over another gate's session: `sandgate approve ID` "
                    "does it from a terminal"
                  : "these lines approve nothing: that needs `sandgate stdio --approver`, a "
                    "terminal, or `sandgate approve ID`");
    submit_talk_call(t, p, -1);
}

static void take_talk_line(void *self, struct str line)
{
    struct talk *t = self;
    if (t->hello) {
        take_hello(t, line);
        return;
    }
    if (t->marks && str_is(line, FORWARD_STOP)) {
        lines_stop(t->lines, "the caller is shutting down");
        return;
    }
    t->taken++;
    if (line.n > 10 && line.n < 4096 &&
        memmem(line.p, line.n < 64 ? line.n : 64, "\"cancel\"", 8)) {
        JSON_AT_END yyjson_doc *doc = NULL;
        if (json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, NULL) == 0 &&
            take_cancel(t, yyjson_doc_get_root(doc))) {
            write_mark(t, t->taken, false);
            return;
        }
    }
    if (talk_approver_take(t->approver, line)) {
        if (!t->approver)
            refuse_approver(t);
        return;
    }
    struct pending *p = pending_new(t);
    submit_talk_call(t, p, read_talk_request(t, line, p, &p->base.call->err));
}

static void refuse_talk_long_line(void *self, size_t max)
{
    struct talk *t = self;
    t->taken++;
    struct pending *p = pending_new(t);
    err_set(&p->base.call->err, ERR_TOO_LARGE, "the line is longer than %zu bytes; it was not read",
            max);
    submit_talk_call(t, p, -1);
}

static void refuse_talk_no_room(void *self, struct str begin)
{
    struct talk *t = self;
    t->taken++;
    struct pending *p = pending_new(t);
    format_scan_id(begin, &p->request);
    submit_talk_call(t, p, err_no_memory(&p->base.call->err));
}

static void stopped(void *self)
{
    struct talk *t = self;
    struct buf *out = t->marks && !t->goodbye ? lines_begin_answer(t->lines) : NULL;
    t->goodbye = true;
    if (!out)
        return;
    buf_addf(out, "%c%c", FORWARD_MARK, FORWARD_GOODBYE);
    lines_end_answer(t->lines);
}

static bool beat(void *self)
{
    struct talk *t = self;
    bool waits = lines_calls(t->lines) || lines_hold_back(t->lines);
    bool due = t->beats && waits && lines_has_room(t->lines);
    struct buf *out = due ? lines_begin_answer(t->lines) : NULL;
    if (out) {
        buf_addf(out, "%c%c", FORWARD_MARK, FORWARD_BEAT);
        lines_end_answer(t->lines);
    }
    return !t->hello;
}

static void leave_talk(void *self)
{
    struct talk *t = self;
    talk_approver_free(TAKE_PTR(t->approver));
}

static void talk_free(void *self)
{
    struct talk *t = self;
    free(t->agent);
    free(t->agents);
    free(t);
}

static const struct lines_user talk_user = {
    .take = take_talk_line,
    .too_long = refuse_talk_long_line,
    .no_room = refuse_talk_no_room,
    .before_send = flush_talk_output,
    .stopped = stopped,
    .beat = beat,
    .leave = leave_talk,
    .free = talk_free,
    .copies = 1,
};

static struct talk *make_talk(struct gate *gate, struct session *session, int in_fd, int out_fd,
                              void (*ended)(void *arg), void *arg)
{
    struct talk *t = mem_zero(sizeof *t);
    t->gate = gate;
    t->session = session;
    t->dialect = gate->dialect;
    t->lines = lines_start(gate, &talk_user, t, in_fd, out_fd, ended, arg);
    return t;
}

struct lines *talk_start(struct gate *gate, struct line_sessions *sessions,
                         const struct talk_options *options, int in_fd, int out_fd,
                         void (*ended)(void *arg), void *arg)
{
    struct talk *t = make_talk(gate, gate->session, in_fd, out_fd, ended, arg);
    t->sessions = sessions;
    t->format = options->format;
    t->agents = mem_dup(options->agents);
    if (options->approver)
        t->approver = talk_approver_start(gate, t->lines, id_of, t);
    return t->lines;
}

struct lines *talk_start_forwarded(struct gate *gate, struct session *session, int in_fd,
                                   int out_fd, void (*ended)(void *arg), void *arg)
{
    struct talk *t = make_talk(gate, session, in_fd, out_fd, ended, arg);
    t->hello = true;
    t->forwarded = true;
    lines_are_a_guests(t->lines);
    return t->lines;
}
