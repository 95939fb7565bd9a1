#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/processor.h"
#include "cell/probe.h"
#include "cell/tier.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/layer.h"
#include "session/preview.h"
#include "session/review.h"
#include "session/scan.h"
#include "session/session_parts.h"
#include "session/settings.h"

/* So many cells may die, one after the other, before calls that wait for the settings are given up. */
#define RESTARTS 2

struct session *session_of_call(const struct call *call)
{
    return (struct session *)call->workplace;
}

struct workplace *session_workplace(struct session *session)
{
    return &session->workplace;
}

int session_check_limits(const struct call *call, struct err *err)
{
    bool runs = tool_runs_programs(call->tool);
    return runs ? commands_check_cpu(session_of_call(call)->commands, call, err) : 0;
}

void session_end_waiting(struct session *s, struct call *call, const struct err *err)
{
    /* One that has the turn for git directories gives it back. */
    if (s->git.busy == call)
        command_after(call, err);
    else
        pipeline_finish(call, err);
}

void session_send(struct session *s, struct call *call)
{
    struct err err;
    size_t most = (size_t)config_int(s->config, "limits.maxReplyBytes");
    if (call->op->writes) {
        call->noted_in = sweep_note(&s->sweeps[call->path.root], call_path_text(call), &err);
        if (call->noted_in < 0) {
            pipeline_finish(call, &err);
            return;
        }
    }
    host_send(&s->host, call, call->reply_max ? call->reply_max : most);
}

void session_go_on(struct session *s, struct call *call)
{
    if (s->host.state == HOST_OPEN)
        session_start(s, call);
    else
        host_wait(&s->host, call);
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

static void give_up_opening(struct session *s, const struct err *err);

static void opened(struct session *s)
{
    struct err err;
    if (s->layer && layer_note_since(s->layer, &err) < 0) {
        give_up_opening(s, &err);
        return;
    }
    host_open(&s->host);
    s->workplace.tier = tier_of_cell(&s->spec);
    s->failures = 0;
    /* Now that the cell is open and what is taken over can be swept at once. */
    session_sweep_begin(s);
    git_turn_clean(s);
    host_go_on(&s->host);
    preview_send_waiting(s);
    review_send_waiting(s);
    if (s->workplace.unsettled) {
        s->workplace.unsettled = false;
        if (s->pipeline)
            pipeline_settled(s->pipeline, &s->workplace);
    }
}

static void rules_taken(struct call *call);
static void session_no_cell(void *owner, const struct err *err);

static void send_rules(struct session *s, const struct config *config)
{
    struct call *call = session_own_call(s, OP_RULES, 0, ".", rules_taken);
    call->request.rules = (struct op_rules_request){.path = call_path_text(call)};
    call->quick = true;
    settings_pack_rules(config, s->layer, buf_str(&s->own_rules), &s->rules);
    call->request_body = buf_str(&s->rules);
    s->to_come++;
    session_send(s, call);
}

/* When the workspace's settings bring other rules than the operator's, these follow, and only then is the cell open. */
static void one_has_come(struct session *s)
{
    if (--s->to_come > 0)
        return;
    if (settings_pack_rules(s->config, s->layer, buf_str(&s->own_rules), &s->rules))
        send_rules(s, s->config);
    else
        opened(s);
}

/* What waits for a cell that died is seen to when that is told. */
static void give_up_opening(struct session *s, const struct err *err)
{
    if (err->code == ERR_INTERRUPTED) {
        host_kill(&s->host, "it ended before it was open");
        return;
    }
    session_no_cell(s, err);
    host_kill(&s->host, "its settings cannot be used");
}

static void rules_taken(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err = call->err;
    bool failed = call->failed;
    call_free(call);
    if (failed)
        give_up_opening(s, &err);
    else
        one_has_come(s);
}

static void settings_came(struct call *call)
{
    struct session *s = session_of_call(call);
    struct config *fresh = NULL;
    struct err err;
    if (call->failed && call->err.code == ERR_INTERRUPTED)
        err = call->err;
    else
        fresh = settings_lay_over(s->operator_config, call, s->settings != NULL, &err);
    call_free(call);
    if (!fresh) {
        give_up_opening(s, &err);
        return;
    }
    config_free(s->config);
    s->workplace.config = s->config = fresh;
    one_has_come(s);
}

/* --- what the host of its cells tells */

/* Nothing mounts the layer, or takes it over, before its processes are known. */
static int session_spawned(void *owner, pid_t group, struct err *err)
{
    const struct session *s = owner;
    const char *layer = s->spec.commits ? s->roots[REVIEW_LAYER].host : s->layer;
    return layer ? layer_note_cell(layer, group, err) : 0;
}

static void session_opening(void *owner)
{
    struct session *s = owner;
    struct call *call;
    snprintf(s->cell_tag, sizeof s->cell_tag, "%s-%x", s->tag, s->host.cells);
    s->to_come = 0;
    send_rules(s, s->operator_config);
    s->to_come++;
    if (s->settings) {
        call = session_own_call(s, OP_READ, 0, s->settings, settings_came);
        call->request.read = (struct op_read_request){.path = call_path_text(call),
                                                      .unguarded = true,
                                                      .start_line = ARG_ABSENT,
                                                      .end_line = ARG_ABSENT,
                                                      .max_bytes = CONFIG_WORKSPACE_BYTES_MAX};
    } else {
        call = session_own_call(s, OP_STAT, 0, ".", settings_came);
        call->request.stat = (struct op_stat_request){.path = call_path_text(call)};
    }
    call->quick = true;
    session_send(s, call);
}

static void go_on_waiting(void *owner, struct call *call)
{
    struct session *s = owner;
    struct err err;
    /* It came before the workspace's own settings were known. */
    if (call->kill_ns)
        session_end_waiting(s, call, &(struct err){.code = ERR_CANCELLED});
    else if (pipeline_recheck(call, &err) < 0)
        session_end_waiting(s, call, &err);
    else
        session_start(s, call);
}

static void give_up_waiting_call(void *owner, struct call *call, const struct err *err)
{
    session_end_waiting(owner, call, err);
}

static void forget_note(struct session *s, const struct call *call)
{
    if (call->op->writes)
        sweep_forget(&s->sweeps[call->path.root], call->noted_in);
}

static void call_replied(void *owner, struct call *call, const struct err *err)
{
    forget_note(owner, call);
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

static void call_came_back(void *owner, struct call *call)
{
    forget_note(owner, call);
}

static void on_command_ended(void *owner, const struct frame *frame)
{
    struct session *s = owner;
    commands_ended(s->commands, frame);
}

static void cell_gone(void *owner)
{
    scan_forget(owner);
}

static void call_lost(void *owner, struct call *call)
{
    struct session *s = owner;
    if (call->op->writes)
        leftover_add(&s->leftovers, call->path.root, call_path_text(call), str_of(s->cell_tag));
    session_sweep_lost(s, call);
}

static bool cell_died(void *owner, const struct err *err)
{
    struct session *s = owner;
    commands_cell_died(s->commands, err);
    for (struct call *call; (call = delayed_take(s->delayed));)
        host_wait(&s->host, call);
    preview_cell_died(s, err);
    review_fail_waiting(s, err);
    bool expected = s->workplace.unsettled && s->pipeline && s->pipeline->unsettled.first;
    if (expected && s->failures++ >= RESTARTS) {
        not_settled(s, err);
        expected = false;
    }
    return expected || preview_waits(s);
}

/* For a cell of the tier full, where one of the tier landlock can be had. MECHANISM_COUNT: nothing is, or there is none. */
static enum mechanism what_is_missing(const struct cell_spec *spec, const struct findings *f)
{
    enum tier_id id = findings_tier(f).id;
    bool of_root = geteuid() == 0 && spec->roots[0].uid == 0;
    if (id == TIER_FULL && of_root && f->of[MECHANISM_IDMAP].state == FINDING_NO)
        return MECHANISM_IDMAP;
    return id == TIER_LANDLOCK ? findings_missing(f, NEED_FULL) : MECHANISM_COUNT;
}

/* An overlay is a mount. What was found before counts: a cell of the full tier has just failed. */
static bool weaken_session(void *owner)
{
    struct session *s = owner;
    struct findings f;
    struct err err;
    const char *wanted = config_text(s->operator_config, "sandbox.require");
    if (s->spec.tier != TIER_FULL || s->layer || s->spec.commits ||
        (wanted && strcmp(wanted, tier_name(TIER_FULL)) == 0))
        return false;
    if ((!probe_kept(s->state_fd, &f) || what_is_missing(&s->spec, &f) == MECHANISM_COUNT) &&
        probe_anew(s->state_fd, &f, &err) < 0)
        return false;
    enum mechanism missing = what_is_missing(&s->spec, &f);
    if (missing == MECHANISM_COUNT || finding_may_pass(&f.of[missing]))
        return false;
    BUF_AT_END struct buf cause = BUF_INIT(sizeof s->weaker - 1);
    finding_write_cause(&f.of[missing], &cause);
    snprintf(s->weaker, sizeof s->weaker, "%s", buf_text(&cause));
    s->spec.tier = TIER_LANDLOCK;
    s->workplace.tier = tier_of_cell(&s->spec);
    return true;
}

static void session_no_cell(void *owner, const struct err *err)
{
    struct session *s = owner;
    host_give_up(&s->host, err);
    preview_fail_waiting(s, err);
    review_fail_waiting(s, err);
    not_settled(s, err);
}

const struct host_owner session_host_owner = {
    .opening = session_opening,
    .spawned = session_spawned,
    .go_on = go_on_waiting,
    .give_up = give_up_waiting_call,
    .replied = call_replied,
    .came_back = call_came_back,
    .command_ended = on_command_ended,
    .gone = cell_gone,
    .lost = call_lost,
    .died = cell_died,
    .weaken = weaken_session,
    .no_cell = session_no_cell,
};

void session_warm_up(struct session *s)
{
    struct err err;
    /* A failure is told to the first call that needs the cell. */
    host_begin(&s->host, &err);
}

void session_expect(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    s->pipeline = call->pipeline;
    if (host_begin(&s->host, &err) < 0) {
        not_settled(s, &err);
        return;
    }
    session_make_ready(call);
}

void session_run(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    if (host_begin(&s->host, &err) < 0) {
        pipeline_finish(call, &err);
        return;
    }
    if (s->host.state == HOST_OPEN) {
        session_start(s, call);
        return;
    }
    session_make_ready(call);
    host_wait(&s->host, call);
}
