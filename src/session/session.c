#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/processor.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/preview.h"
#include "session/scan.h"
#include "session/session_parts.h"
#include "session/settings.h"

/* How many cells may die under a call that waits for one. */
#define RESTARTS 2

static struct session *session_of_call(const struct call *call)
{
    return (struct session *)call->workplace;
}

struct workplace *session_workplace(struct session *session)
{
    return &session->workplace;
}

int session_check_limits(struct session *session, const struct call *call, struct err *err)
{
    bool runs = session && session->commands && tool_runs_programs(call->tool);
    return runs ? commands_check_cpu(session->commands, call, err) : 0;
}

static void finish_session_call(struct call *call, const struct err *err)
{
    if (call->op->writes)
        sweep_forget(&session_of_call(call)->sweeps[call->path.root], call->noted_in);
    if (call->pipeline) {
        pipeline_finish(call, err);
        return;
    }
    /* One of the session's own. */
    call->failed = err != NULL;
    if (err)
        call->err = *err;
    call->answer(call);
}

void session_wait(struct session *s, struct call *call)
{
    call->wait_next = NULL;
    *s->waiting_end = call;
    s->waiting_end = &call->wait_next;
}

void session_end_waiting(struct session *s, struct call *call, const struct err *err)
{
    /* One that has the turn for git directories gives it back. */
    if (s->git.busy == call)
        command_after(call, err);
    else
        pipeline_finish(call, err);
}

bool session_unwait(struct session *s, struct call *call)
{
    struct call **at = &s->waiting;
    while (*at && *at != call)
        at = &(*at)->wait_next;
    if (!*at)
        return false;
    *at = call->wait_next;
    if (!*at)
        s->waiting_end = at;
    return true;
}

void session_send(struct session *s, struct call *call)
{
    struct err err;
    int body_fd = -1;
    struct frame frame;
    call->shelved = 0;
    call->reply_lost = false;
    buf_init(&call->reply_body, call->op->body == OP_BODY_NONE ? 0
                                : call->reply_max
                                    ? call->reply_max
                                    : (size_t)config_int(s->config, "limits.maxReplyBytes"));
    if (call->as_text) {
        buf_done(&call->text.out);
        call->text = (struct json_text){.out = BUF_INIT(6 * call->reply_body.max + 64)};
    }
    if (call->op->writes) {
        call->noted_in = sweep_note(&s->sweeps[call->path.root], call_path_text(call), &err);
        if (call->noted_in < 0) {
            pipeline_finish(call, &err);
            return;
        }
    }
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    uint32_t processor = processor_for_call(flight_count(&s->flight) == 0);
    call->sent_from = processor_here();
    if (flight_frame(call, processor, &head, &frame, &body_fd, &err) < 0) {
        finish_session_call(call, &err);
        return;
    }
    if (call->request_fd >= 0)
        body_fd = TAKE_FD(call->request_fd);
    shelving_give_back(&s->shelving, s->cell);
    frame.token = call->token = flight_add(&s->flight, call);
    if (cell_send(s->cell, &frame, body_fd, &err) == 0)
        return;
    flight_remove(&s->flight, call);
    if (err.code != ERR_INTERRUPTED || !call->pipeline) {
        finish_session_call(call, &err);
        return;
    }
    /* The cell is ending: the next one gets it. */
    if (call->op->writes)
        sweep_forget(&s->sweeps[call->path.root], call->noted_in);
    session_wait(s, call);
}

void session_go_on(struct session *s, struct call *call)
{
    if (s->state == OPEN)
        session_start(s, call);
    else
        session_wait(s, call);
}

static void fail_waiting(struct session *s, const struct err *err, unsigned patience)
{
    struct call *call = s->waiting;
    s->waiting = NULL;
    s->waiting_end = &s->waiting;
    for (struct call *next; call; call = next) {
        next = call->wait_next;
        call->token = 0;
        if (call->restarts++ < patience)
            session_wait(s, call);
        else
            session_end_waiting(s, call, err);
    }
}

void session_fail_waiting(struct session *s, const struct err *err)
{
    fail_waiting(s, err, 0);
}

void session_send_waiting(struct session *s)
{
    struct call *call = s->waiting;
    s->waiting = NULL;
    s->waiting_end = &s->waiting;
    for (struct call *next; call; call = next) {
        struct err err;
        next = call->wait_next;
        /* They came before the workspace's own settings were known. */
        if (call->kill_ns)
            session_end_waiting(s, call, &(struct err){.code = ERR_CANCELLED});
        else if (pipeline_recheck(call, &err) < 0)
            session_end_waiting(s, call, &err);
        else
            session_start(s, call);
    }
}

struct call *session_own_call(struct session *s, enum op_id op, size_t root, const char *path,
                              void (*done)(struct call *))
{
    struct call *call = call_new();
    call->workplace = &s->workplace;
    call->op = &op_table[op];
    call->path.root = root;
    /* Whoever makes a path checks its length. One that is too long names nothing: the worker refuses it. */
    size_t length = strlen(path);
    if (length < sizeof call->path.text)
        memcpy(call->path.text, path, length + 1);
    call->answer = done;
    return call;
}

static void not_settled(struct session *s, const struct err *err)
{
    s->failures = 0;
    if (s->pipeline)
        pipeline_not_settled(s->pipeline, &s->workplace, err);
}

static void opened(struct session *s)
{
    s->state = OPEN;
    s->failures = 0;
    /* Now that the cell is open and what is taken over can be swept at once. */
    session_sweep_begin(s);
    git_turn_clean(s);
    session_send_waiting(s);
    preview_send_waiting(s);
    if (s->workplace.unsettled) {
        s->workplace.unsettled = false;
        if (s->pipeline)
            pipeline_settled(s->pipeline, &s->workplace);
    }
}

static void came(struct call *call);

static void send_rules(struct session *s, const struct config *config)
{
    struct call *call = session_own_call(s, OP_RULES, 0, ".", came);
    call->request.rules = (struct op_rules_request){.path = call_path_text(call)};
    call->quick = true;
    settings_pack_rules(config, buf_str(&s->own_rules), &s->rules);
    call->request_body = buf_str(&s->rules);
    s->to_come++;
    session_send(s, call);
}

/* One of the calls that come before all others is done. When the workspace's settings bring other rules than
 * the operator's, these follow, and only then is the cell open. */
static void came(struct call *call)
{
    struct session *s = session_of_call(call);
    struct config *fresh = NULL;
    struct err err;
    bool rules = call->op == &op_table[OP_RULES];
    bool cut_off = call->failed && call->err.code == ERR_INTERRUPTED;
    if (!rules && !cut_off)
        fresh = settings_lay_over(s->operator_config, call, s->settings != NULL, &err);
    else if (call->failed)
        err = call->err;
    bool failed = rules ? call->failed : !fresh;
    call_free(call);
    if (failed) {
        /* What waits for a cell that died is seen to when that is told. */
        if (!cut_off) {
            fail_waiting(s, &err, 0);
            preview_fail_waiting(s, &err);
            not_settled(s, &err);
        }
        cell_kill(s->cell, cut_off ? "it ended before it was open" : "its settings cannot be used");
        return;
    }
    if (fresh) {
        config_free(s->config);
        s->workplace.config = s->config = fresh;
    }
    if (--s->to_come > 0)
        return;
    if (settings_pack_rules(s->config, buf_str(&s->own_rules), &s->rules))
        send_rules(s, s->config);
    else
        opened(s);
}

static int take_frame(void *arg, const struct frame *frame)
{
    struct session *s = arg;
    struct err err;
    struct call *call = flight_find(&s->flight, frame->token);
    if (!call)
        return -1;
    if (frame->type == FRAME_SHELVED && !shelving_take(&s->shelving, frame->token))
        return -1;
    int r = flight_take(call, frame, &s->shelving.shelf, &err);
    if (r == FLIGHT_MORE) {
        processor_stay(call->sent_from);
        return (int)flight_count(&s->flight);
    }
    if (r == FLIGHT_BROKEN)
        return -1;
    s->shelving.taken |= call->shelved > 0;
    flight_remove(&s->flight, call);
    finish_session_call(call, r == FLIGHT_FAILED ? &err : NULL);
    return (int)flight_count(&s->flight);
}

static int open_cell(struct session *s, struct err *err);

static void cell_died(void *arg, const char *why)
{
    struct session *s = arg;
    struct err err;
    if (cell_is_ready(s->cell))
        err_set(&err, ERR_INTERRUPTED,
                "the sandbox cell ended during this call (%s); files are either as before or as "
                "asked, look before repeating it",
                why);
    else
        err_set(&err, cell_was_short(s->cell) ? ERR_SESSION_BUSY : ERR_SANDBOX_UNAVAILABLE,
                "no sandbox, so nothing runs: %s", why);
    /* `why` is the cell's own and goes with it. */
    cell_free(s->cell);
    s->cell = NULL;
    shelving_close(&s->shelving);
    s->state = NO_CELL;
    scan_forget(s);
    for (struct call *call; (call = flight_first(&s->flight));) {
        flight_remove(&s->flight, call);
        if (call->op->writes)
            leftover_add(&s->leftovers, call->path.root, call_path_text(call), s->cell_tag);
        if (call->op == &op_table[OP_SWEEP])
            leftover_add(&s->leftovers, call->path.root, call_path_text(call), call->sweep_tag);
        if (call->pipeline || call->awaited)
            finish_session_call(call, &err);
        else
            call_free(call);
    }
    commands_cell_died(s->commands, &err);
    for (struct call *call; (call = delayed_take(s->delayed));)
        session_wait(s, call);
    /* Those that were never sent to it only need another one, but not for ever. */
    fail_waiting(s, &err, RESTARTS);
    preview_cell_died(s, &err);
    bool expected = s->workplace.unsettled && s->pipeline && s->pipeline->unsettled.first;
    if (expected && s->failures++ >= RESTARTS) {
        not_settled(s, &err);
        expected = false;
    }
    if ((s->waiting || expected || preview_waits(s)) && open_cell(s, &err) < 0) {
        fail_waiting(s, &err, 0);
        preview_fail_waiting(s, &err);
        not_settled(s, &err);
    }
    /* Half of what the next call would wait for is done by then. */
    if (s->state == NO_CELL)
        cell_prepare();
}

/* The cell is ending and never had this call: the next one gets it. */
static void unsent(void *arg, uint64_t token)
{
    struct session *s = arg;
    struct call *call = flight_find(&s->flight, token);
    if (!call || !call->pipeline)
        return;
    flight_remove(&s->flight, call);
    if (call->op->writes)
        sweep_forget(&s->sweeps[call->path.root], call->noted_in);
    session_wait(s, call);
}

static void on_command_ended(void *arg, const struct frame *frame)
{
    struct session *s = arg;
    commands_ended(s->commands, frame);
}

static const struct cell_events cell_events = {take_frame, unsent, on_command_ended, cell_died};

static int open_cell(struct session *s, struct err *err)
{
    int shelf_fd = -1;
    /* It is worth while only when it is used again. Without it replies take the longer way. */
    if (!s->once)
        shelving_open(&s->shelving, &shelf_fd);
    if (cell_start(&s->cell, s->loop, &s->spec, shelf_fd, &cell_events, s, err) < 0) {
        shelving_close(&s->shelving);
        return -1;
    }
    s->state = OPENING;
    snprintf(s->cell_tag, sizeof s->cell_tag, "%s-%x", s->tag, ++s->cells);
    s->to_come = 0;
    send_rules(s, s->operator_config);
    s->to_come++;
    struct call *call;
    if (s->settings) {
        call = session_own_call(s, OP_READ, 0, s->settings, came);
        call->request.read = (struct op_read_request){.path = call_path_text(call),
                                                      .unguarded = true,
                                                      .start_line = ARG_ABSENT,
                                                      .end_line = ARG_ABSENT,
                                                      .max_bytes = CONFIG_WORKSPACE_BYTES_MAX};
    } else {
        call = session_own_call(s, OP_STAT, 0, ".", came);
        call->request.stat = (struct op_stat_request){.path = call_path_text(call)};
    }
    call->quick = true;
    session_send(s, call);
    return 0;
}

int session_begin(struct session *s, struct err *err)
{
    return s->state == NO_CELL ? open_cell(s, err) : 0;
}

void session_warm_up(struct session *s)
{
    struct err err;
    /* A failure is told to the first call that needs the cell. */
    session_begin(s, &err);
}

static void expect(void *self, struct call *call)
{
    (void)self;
    struct session *s = session_of_call(call);
    struct err err;
    s->pipeline = call->pipeline;
    if (s->state == NO_CELL && open_cell(s, &err) < 0) {
        not_settled(s, &err);
        return;
    }
    session_make_ready(s, call);
}

static void run_session_call(void *self, struct call *call)
{
    (void)self;
    struct session *s = session_of_call(call);
    struct err err;
    if (s->state == NO_CELL && open_cell(s, &err) < 0) {
        pipeline_finish(call, &err);
        return;
    }
    if (s->state == OPEN) {
        session_start(s, call);
        return;
    }
    session_make_ready(s, call);
    session_wait(s, call);
}

static void flush_session_cell(void *self)
{
    (void)self;
    cell_flush();
}

struct runner session_runner(void)
{
    return (struct runner){"worker",     run_session_call,   session_stop, session_kill,
                           session_late, flush_session_cell, NULL,         expect};
}
