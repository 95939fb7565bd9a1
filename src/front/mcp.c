/* `sandgate mcp`: a Model Context Protocol server on standard input and output. */
#include "dialect/mcp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/registry.h"
#include "front/front.h"
#include "front/live.h"
#include "front/longlived.h"
#include "front/mcp_ask.h"
#include "front/mcp_session.h"
#include "gate/state.h"

#define OPTIONS (OPTIONS_DIALECT | OPTIONS_PLACE | OPTIONS_IDENTITY | OPTIONS_MCP)
#define SESSION_WORDS_MAX ((size_t)32 << 10)

struct mcp_how {
    const struct options *options;
    const char *session_words;
};

struct mcp {
    struct gate *gate;
    struct lines *lines;
    struct mcp_ask *ask;
    bool initialized;
    const struct options *options;
    const char *session_words; /* for the instructions; "": none */
    char *client;              /* its name; NULL: not said */
    bool structure;            /* the client's revision has structuredContent */
    bool printed;              /* commands have, in this turn */
};

struct pending {
    struct lines_call base;
    struct mcp *mcp;
    char *id_json;
    bool cancelled; /* by the client, which then waits for no answer */
    char *progress_json;
    uint64_t bytes; /* that its command has printed */
    struct live live;
};

static bool write_mcp_progress(void *arg, const struct printed *printed, struct buf *out)
{
    struct pending *p = arg;
    p->bytes += printed->skipped + printed->bytes.n;
    if (p->cancelled || printed->bytes.n == 0)
        return false;
    mcp_write_progress(p->progress_json, p->bytes, printed->bytes, out);
    return true;
}

static void on_mcp_output(struct call *call, enum stream stream, struct str bytes)
{
    struct pending *p = call->front;
    p->mcp->printed = true;
    live_add(&p->live, stream, bytes);
}

static void flush_mcp_progress(void *self)
{
    struct mcp *m = self;
    if (!m->printed)
        return;
    m->printed = false;
    for (struct lines_call *c = lines_calls(m->lines); c; c = c->next)
        live_flush(&((struct pending *)c)->live);
}

static void finish_mcp_call(struct call *call)
{
    struct pending *p = call->front;
    struct mcp *m = p->mcp;
    lines_drop(&p->base);
    live_end(&p->live);
    struct buf *out = p->cancelled ? NULL : lines_begin_answer(m->lines);
    if (out) {
        mcp_write_result(p->id_json, call, m->structure, out);
        lines_end_answer(m->lines);
    }
    live_done(&p->live);
    free(p->progress_json);
    free(p->id_json);
    free(p);
    call_free(call);
}

static struct pending *find_pending(const struct mcp *m, const char *uid)
{
    for (struct lines_call *c = lines_calls(m->lines); c; c = c->next) {
        if (strcmp(c->call->uid, uid) == 0)
            return (struct pending *)c;
    }
    return NULL;
}

static struct call *find_waiting_call(void *arg, const char *uid)
{
    struct pending *p = find_pending(arg, uid);
    return p ? p->base.call : NULL;
}

/* Who shows progress shows that a person is to be asked, and what to do about it. */
static bool tell_waiting_progress(void *arg, const char *uid, struct str text)
{
    struct mcp *m = arg;
    struct pending *p = find_pending(m, uid);
    if (!p || !p->progress_json)
        return false;
    struct buf *out = lines_begin_answer(m->lines);
    if (!out)
        return true;
    mcp_write_progress(p->progress_json, ++p->bytes, text, out);
    lines_end_answer(m->lines);
    return true;
}

/* In a list of names with commas between them. */
static bool is_in_list(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == n && memcmp(at, name, n) == 0)
            return true;
    }
    return false;
}

/* By the options of this server; rules say more. */
static bool server_offers(const struct options *o, const struct tool *tool)
{
    if (o->read_only && tool->capabilities & ~(unsigned)CAP_FS_READ)
        return false;
    return !o->tools || is_in_list(o->tools, tool->name) ||
           (tool->alias && is_in_list(o->tools, tool->alias));
}

static bool is_listed(const struct mcp *m, const struct tool *tool)
{
    bool layered = session_workplace(m->gate->session)->overlay;
    return server_offers(m->options, tool) && (layered || !(tool->flags & TOOL_LAYER));
}

static void refuse_if_not_offered(const struct mcp *m, struct call *call)
{
    struct err ignored;
    const struct tool *tool = registry_find(call->dialect->id,
                                            (struct str){call->name, strlen(call->name)}, &ignored);
    if (!tool || server_offers(m->options, tool))
        return;
    call->failed = true;
    err_set(&call->err, ERR_UNKNOWN_TOOL,
            "there is no tool `%.60s` here: the server was started with %s", call->name,
            m->options->read_only ? "--read-only" : "--tools");
}

static void submit_mcp_call(struct mcp *m, struct mcp_message *message)
{
    struct request *request = &message->request;
    struct pending *p = mem_zero(sizeof *p);
    struct call *call = gate_call_new(m->gate, m->gate->session);
    p->mcp = m;
    p->id_json = TAKE_PTR(request->id_json);
    p->base.id_json = p->id_json;
    p->progress_json = TAKE_PTR(message->progress_json);
    live_init(&p->live, m->lines, write_mcp_progress, p);
    p->base.call = call;
    call->id = TAKE_PTR(request->id);
    call->name = TAKE_PTR(request->name);
    call->doc = TAKE_PTR(request->doc);
    call->arguments = request->arguments;
    if (!m->options->structured)
        mcp_want_plain(call, m->client);
    refuse_if_not_offered(m, call);
    call->front = p;
    call->answer = finish_mcp_call;
    if (p->progress_json)
        call->output = on_mcp_output;
    lines_submit(m->lines, &p->base);
}

static void cancel_mcp_call(struct mcp *m, const char *id_json)
{
    struct pending *p = (struct pending *)lines_find(m->lines, id_json);
    if (!p)
        return;
    p->cancelled = true;
    pipeline_cancel(p->base.call, ERR_CANCELLED, "the caller cancelled the call");
}

/* What may come when. */
static int check_mcp_order(struct mcp *m, const struct mcp_message *message,
                           struct mcp_error *error)
{
    if (message->method == MCP_INITIALIZE && m->initialized)
        return mcp_fail(error, MCP_INVALID_REQUEST, "the session is initialized already");
    bool early = message->method == MCP_TOOLS_LIST || message->method == MCP_TOOLS_CALL;
    if (early && !m->initialized)
        return mcp_fail(error, MCP_INVALID_REQUEST, "`initialize` must come first");
    if (message->method == MCP_TOOLS_CALL && lines_find(m->lines, message->request.id_json))
        return mcp_fail(error, MCP_INVALID_REQUEST, "a request with the id %.60s is still running",
                        message->request.id_json);
    return 0;
}

static void write_tools(const struct mcp *m, const char *id_json, struct buf *out)
{
    const struct gate *gate = m->gate;
    const struct tool **tools = keeper_offered(
        gate->keeper, session_workplace(gate->session)->config, gate->dialect->id, gate->agent);
    size_t n = 0;
    for (size_t i = 0; tools[i]; i++) {
        if (is_listed(m, tools[i]))
            tools[n++] = tools[i];
    }
    tools[n] = NULL;
    mcp_write_tools(id_json, gate->dialect, tools, m->options->structured, out);
    free(tools);
}

/* Requests that are answered at once. */
static void answer_mcp_request(struct mcp *m, const struct mcp_message *message)
{
    const char *id_json = message->request.id_json;
    struct buf *out = lines_begin_answer(m->lines);
    if (!out)
        return;
    if (message->method == MCP_INITIALIZE) {
        m->structure = mcp_has_structure(message->version);
        mcp_write_initialized(id_json, message->version, m->gate->dialect, m->options->structured,
                              m->session_words, out);
    } else if (message->method == MCP_TOOLS_LIST)
        write_tools(m, id_json, out);
    else
        mcp_write_pong(id_json, out);
    lines_end_answer(m->lines);
}

static void refuse_mcp_request(struct mcp *m, const char *id_json, const struct mcp_error *error)
{
    struct buf *out = lines_begin_answer(m->lines);
    if (!out)
        return;
    mcp_write_error(id_json, error, out);
    lines_end_answer(m->lines);
}

static void take_mcp_line(void *self, struct str line)
{
    struct mcp *m = self;
    struct mcp_error error;
    CLEANUP(mcp_message_done) struct mcp_message message;
    if (mcp_read(line, &message, &error) < 0 || check_mcp_order(m, &message, &error) < 0) {
        refuse_mcp_request(m, message.request.id_json, &error);
        return;
    }
    switch (message.method) {
    case MCP_TOOLS_CALL:
        submit_mcp_call(m, &message);
        break;
    case MCP_CANCELLED:
        cancel_mcp_call(m, message.cancel_json);
        break;
    case MCP_INITIALIZE:
        m->initialized = true;
        m->client = TAKE_PTR(message.client);
        mcp_ask_elicit(m->ask, message.elicits);
        answer_mcp_request(m, &message);
        break;
    case MCP_TOOLS_LIST:
    case MCP_PING:
        answer_mcp_request(m, &message);
        break;
    case MCP_ANSWER:
        mcp_ask_answered(m->ask, message.request.id_json, &message.answer);
        break;
    case MCP_NOTHING:
        break;
    }
}

static void refuse_mcp_long_line(void *self, size_t max)
{
    struct mcp_error error;
    mcp_fail(&error, MCP_INVALID_REQUEST, "the line is longer than %zu bytes; it was not read",
             max);
    refuse_mcp_request(self, NULL, &error);
}

static void refuse_mcp_no_room(void *self, struct str begin)
{
    struct mcp_error error;
    struct request request = {0};
    format_scan_id(begin, &request);
    mcp_fail(&error, MCP_BUSY, "not enough memory; try again");
    refuse_mcp_request(self, request.id_json, &error);
    request_done(&request);
}

static void leave_mcp(void *self)
{
    struct mcp *m = self;
    mcp_ask_free(TAKE_PTR(m->ask));
}

static void free_mcp(void *self)
{
    struct mcp *m = self;
    free(m->client);
    free(m);
}

static const struct lines_user mcp_user = {
    .leave = leave_mcp,
    .take = take_mcp_line,
    .too_long = refuse_mcp_long_line,
    .no_room = refuse_mcp_no_room,
    .before_send = flush_mcp_progress,
    .free = free_mcp,
    .copies = 2,
};

static struct lines *start_mcp(struct gate *gate, struct line_sessions *sessions, const void *how,
                               int in_fd, int out_fd, void (*ended)(void *arg), void *arg)
{
    (void)sessions;
    struct mcp *m = mem_zero(sizeof *m);
    m->gate = gate;
    m->options = ((const struct mcp_how *)how)->options;
    m->session_words = ((const struct mcp_how *)how)->session_words;
    m->lines = lines_start(gate, &mcp_user, m, in_fd, out_fd, ended, arg);
    m->ask = mcp_ask_start(gate, m->lines,
                           &(struct mcp_ask_user){find_waiting_call, tell_waiting_progress, m});
    return m->lines;
}

static int help_mcp(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(
        &out, "usage: sandgate mcp [options]\n\n"
              "Serves the tools to one client of the Model Context Protocol, over standard input "
              "and output. A client\n"
              "starts it by itself; with Claude Code, for example:\n"
              "  claude mcp add sandgate -- sandgate mcp --workspace /path/to/project\n"
              "Changes go to a session's layer, where they wait for review, and not to the folder; "
              "--host changes it at once.\n\n");
    options_help(OPTIONS, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* `made`: for this server. */
static int serve_mcp_session(const struct options *o, struct gate_options *go, int state_fd,
                             bool made)
{
    struct err err;
    BUF_AT_END struct buf words = BUF_INIT(SESSION_WORDS_MAX);
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    FD_AT_END int owner = -1;
    int r = front_take_session(o, false, &named, &owner, &err);
    if (r == 0)
        err_set(&err, ERR_SESSION_BUSY,
                "session %s is in use by another process, and mcp cannot share it as a guest",
                o->session);
    if (r <= 0)
        return front_usage_error(&err);
    front_use_session(go, &named);
    go->needs_layer = named.overlay;
    mcp_session_words(state_fd, &named, &words);
    struct mcp_how how = {o, words.len ? buf_text(&words) : ""};
    int status = longlived_run(go, &named, NULL, start_mcp, &how);
    mcp_session_end(state_fd, &named, made, o);
    return status;
}

static int serve_mcp_own_session(const struct options *o, struct gate_options *go, int state_fd)
{
    struct err err;
    char id[NAMED_ID_MAX];
    struct options own = *o;
    if (mcp_session_make(state_fd, o, id, &err) < 0)
        return front_usage_error(&err);
    own.session = id;
    own.workspace = own.project = go->project = NULL;
    return serve_mcp_session(&own, go, state_fd, true);
}

/* A name that is written wrong would be a tool that is missing. */
static int check_offered(const struct options *o, const struct dialect *dialect, struct err *err)
{
    for (const char *at = o->tools; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (!registry_find(dialect->id, (struct str){at, strcspn(at, ",")}, err))
            return -1;
    }
    return 0;
}

int front_mcp(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (options_read(argc, argv, OPTIONS, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_mcp();
    if (front_gate_options(&o, &go, &state_path, &err) < 0 ||
        check_offered(&o, go.dialect, &err) < 0)
        return front_usage_error(&err);
    go.mcp = true;
    FD_AT_END int state_fd = -1;
    int layered = o.session ? 0 : mcp_session_is_wanted(&o, &err);
    if (layered < 0 || state_open(&state_fd, &err) < 0)
        return front_usage_error(&err);
    if (o.session)
        return serve_mcp_session(&o, &go, state_fd, false);
    if (layered)
        return serve_mcp_own_session(&o, &go, state_fd);
    return longlived_run(&go, NULL, NULL, start_mcp, &(struct mcp_how){&o, ""});
}
