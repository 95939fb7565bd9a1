/* Calls that wait: for hooks, for the preview of what they would write, and for a person's yes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/shown.h"
#include "core/logged_summary.h"
#include "gate/decide.h"
#include "gate/keeper_parts.h"
#include "gate/summary.h"
#include "gate/summary_preview.h"

/* How soon an answer that was given elsewhere is heard. */
#define POLL_MS 50
#define LOCK_PATIENCE_NS 5000000000u
#define SUMMARY_MAX 4096
/* Each byte of a request becomes at most four. */
#define DETAIL_MAX ((size_t)192 << 20)
/* Of all calls of a gate that wait: they lie in state.db. */
#define DETAILS_MAX ((size_t)512 << 20)

enum ask_step { ASK_HOOKS, ASK_PREVIEW, ASK_STATE, ASK_WAITING };

struct ask {
    struct ask *next;
    struct keeper *keeper;
    struct call *call;
    enum ask_step step;
    uint64_t
        give_up_ns; /* ASK_STATE: until the database is to be had; ASK_WAITING: until someone is to answer */
    struct approval approval;
    struct buf summary;
    struct buf detail;
    size_t detail_bytes; /* that are in state.db */
    bool cut;            /* not everything is shown */
    struct buf proposal;
    char session[96];
    char digest[HASH_HEX + 1];
    char why[320]; /* the rule that asks, and what another that approves does not hold for */
};

static void ask_free(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    for (struct ask **at = &k->asks; *at; at = &(*at)->next) {
        if (*at != ask)
            continue;
        *at = ask->next;
        k->n_asks--;
        break;
    }
    if (k->n_asks == 0)
        uv_timer_stop(&k->poll);
    buf_done(&ask->summary);
    buf_done(&ask->detail);
    buf_done(&ask->proposal);
    ask->call->ask = NULL;
    free(ask);
}

static void tell_ask_over(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    for (struct keeper_listener *l = k->listeners, *next; l; l = next) {
        next = l->next;
        if (l->over)
            l->over(l, &ask->approval);
    }
}

static void record(struct keeper *k, const struct ask *ask, const char *kind)
{
    struct err ignored; /* the call's own records tell of a log that cannot be written */
    const struct approval *a = &ask->approval;
    stats_approval(k->options.stats, a->state);
    if (!k->audit)
        return;
    struct json_out *j = audit_begin(k->audit, kind, ask->call->uid);
    jo_ktext(j, "approval", a->id);
    jo_ktext(j, "tool", a->tool);
    if (ask->call->agent)
        jo_ktext(j, "agent", ask->call->agent);
    if (ask->call->workplace->session_id[0])
        jo_ktext(j, "session", ask->call->workplace->session_id);
    if (a->state == APPROVAL_WAITING) {
        BUF_AT_END struct buf safe = BUF_INIT(REDACT_OUT_MAX(SUMMARY_MAX));
        struct str summary = {a->summary, strlen(a->summary)};
        if (logged_summary(summary, &safe))
            summary = buf_str(&safe);
        jo_ktext(j, "rule", a->rule);
        jo_kstr(j, "summary", summary);
        jo_kint(j, "expiresMs", a->expires_ms);
    } else {
        jo_ktext(j, "state", approval_state_names[a->state]);
        if (a->state == APPROVAL_APPROVED)
            jo_ktext(j, "scope", approval_scope_names[a->scope]);
        if (a->decided_by)
            jo_ktext(j, "by", a->decided_by);
    }
    audit_end(k->audit);
    audit_flush(k->audit, &ignored);
}

/* Ends with this error; the ask is gone. */
static void refuse_asked_call(struct ask *ask, const struct err *err)
{
    struct call *call = ask->call;
    ask_free(ask);
    pipeline_resume(call, err);
}

/* --- a person's answer */

static void approved(struct ask *ask, const struct approval *now)
{
    struct keeper *k = ask->keeper;
    struct call *call = ask->call;
    struct err err;
    ask->approval.state = APPROVAL_APPROVED;
    ask->approval.scope = now->scope;
    ask->approval.decided_by = now->decided_by;
    /* A rule for always stands in approved.json, from where it can be taken back. */
    if (now->scope == APPROVE_SESSION && ask->approval.proposal) {
        keeper_forget_kept(&k->allowed); /* our own change does not show as one */
        if (allowances_add(k->db, ask->session, call->agent, call->dialect->name,
                           ask->approval.proposal, now->decided_by ? now->decided_by : "",
                           &err) < 0) {
            ask->approval.scope = APPROVE_ONCE;
            log_warning("%s was approved for the session, but holds only once: %s",
                        ask->approval.id, err.message);
        }
    }
    record(k, ask, "approval.decided");
    tell_ask_over(ask);
    call->approved_by = mem_dup(now->decided_by ? now->decided_by : "");
    call->approved = true;
    ask_free(ask);
    pipeline_resume(call, NULL);
}

static void not_approved(struct ask *ask, const struct approval *now)
{
    struct err err;
    const char *id = ask->approval.id;
    ask->approval.state = now->state;
    ask->approval.decided_by = now->decided_by;
    record(ask->keeper, ask, "approval.decided");
    tell_ask_over(ask);
    if (now->state == APPROVAL_DENIED) {
        err_set(&err, ERR_APPROVAL_DENIED,
                "the user was asked about this call (by the rule %s) and said no (request %s): do "
                "not try other ways to the same thing; ask what to do instead",
                ask->approval.rule, id);
        err_reason(&err, "approval_denied");
    } else {
        err_set(
            &err, ERR_APPROVAL_TIMEOUT,
            "nobody approved this call in time (request %s, by the rule %s); `sandgate approve "
            "ID` does it from a terminal while the call waits, and a rule in approval.rules for "
            "good",
            id, ask->approval.rule);
        err_reason(&err, "approval_timeout");
    }
    refuse_asked_call(ask, &err);
}

/* Whether it went on. */
static bool look_at_ask(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    struct err err;
    struct approval now = {0};
    if (approvals_look(k->db, ask->approval.id, &now, &err) < 0) {
        if (strcmp(err.reason, "state_locked") == 0)
            return false;
        tell_ask_over(ask);
        refuse_asked_call(ask, &err);
        return true;
    }
    bool decided = now.state != APPROVAL_WAITING;
    if (now.state == APPROVAL_APPROVED)
        approved(ask, &now);
    else if (decided)
        not_approved(ask, &now);
    approval_done(&now);
    return decided;
}

static void time_out(struct ask *ask)
{
    struct err err;
    int r = approvals_end(ask->keeper->db, ask->approval.id, APPROVAL_TIMED_OUT, &err);
    if (r == 0) {
        look_at_ask(ask); /* someone was quicker */
        return;
    }
    /* Also where that cannot be written down: the time is over, and nobody's yes is waited for any more. */
    not_approved(ask, &(struct approval){.state = APPROVAL_TIMED_OUT});
}

static void put_ask_question(struct ask *ask);

void keeper_poll(uv_timer_t *timer)
{
    struct keeper *k = timer->data;
    unsigned version = db_version(k->db);
    bool changed = version != k->seen || version == 0;
    uint64_t now = clock_mono_ns();
    k->seen = version;
    for (struct ask *ask = k->asks, *next; ask; ask = next) {
        next = ask->next;
        if (ask->step == ASK_STATE)
            put_ask_question(ask);
        else if (ask->step == ASK_WAITING && !(changed && look_at_ask(ask)) &&
                 now >= ask->give_up_ns)
            time_out(ask);
    }
}

int keeper_decide(struct keeper *k, const char *id, const struct approval_decision *decision,
                  struct err *err)
{
    if (decide_approval(k->db, id, decision, REMEMBER_AT_ONCE, err) < 0)
        return -1;
    /* Ours would see it at the next poll: now is better, but not from within a listener. */
    k->seen = 0;
    if (k->n_asks)
        uv_timer_start(&k->poll, keeper_poll, 0, POLL_MS);
    return 0;
}

/* --- putting the question */

static void put_ask_question(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    struct approval *a = &ask->approval;
    int64_t timeout = config_int(ask->call->workplace->config, "approval.timeoutMs");
    struct err err;
    a->asked_ms = clock_unix_ms();
    a->expires_ms = a->asked_ms + timeout;
    if (approvals_ask(k->db, a, &err) < 0) {
        uint64_t now = clock_mono_ns();
        if (strcmp(err.reason, "state_locked") == 0 && now < ask->give_up_ns)
            return; /* the poll tries again */
        refuse_asked_call(ask, &err);
        return;
    }
    ask->step = ASK_WAITING;
    memcpy(ask->call->approval_id, a->id, sizeof a->id);
    ask->give_up_ns = clock_mono_ns() + (uint64_t)timeout * 1000000;
    record(k, ask, "approval.asked");
    for (struct keeper_listener *l = k->listeners, *next; l; l = next) {
        next = l->next;
        l->asked(l, a);
    }
    /* It can be long, and from now on it is in state.db. */
    a->detail = "";
    buf_reset(&ask->detail, 0);
}

static void describe_ask(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    const struct call *call = ask->call;
    struct policy_call pc = keeper_call(k, call);
    struct approval *a = &ask->approval;
    const char *workspace = call->workplace->roots[0].host;
    keeper_session_key(k, call, ask->session, sizeof ask->session);
    keeper_digest(k, call, ask->digest);
    /* What nobody could read whole is no ground for a rule. */
    bool rule = !ask->cut && propose_rule(&pc, call->dialect->name, workspace, &ask->proposal);
    const struct verdict *v = &call->verdict;
    snprintf(ask->why, sizeof ask->why, "%s%s%s", v->rule, v->why[0] ? ": " : "", v->why);
    *a = (struct approval){
        .gate = k->audit ? audit_gate_id(k->audit) : "",
        .call = call->uid,
        .caller_id = call->id,
        .tool = call->tool->name,
        .dialect = call->dialect->name,
        .agent = call->agent,
        .session = k->options.once ? NULL : ask->session,
        .workspace = workspace,
        .digest = ask->digest,
        .rule = ask->why,
        .summary = buf_text(&ask->summary),
        .detail = ask->detail.len ? buf_text(&ask->detail) : "",
        .proposal = rule ? buf_text(&ask->proposal) : NULL,
    };
}

/* What is stored of all calls that wait in this gate. */
static size_t stored_bytes(const struct keeper *k)
{
    size_t sum = 0;
    for (const struct ask *ask = k->asks; ask; ask = ask->next)
        sum += ask->detail_bytes;
    return sum;
}

static void ready_to_ask(struct ask *ask)
{
    struct err err;
    if (ask->detail.failed) {
        ask->cut = true;
        summary_too_long(ask->call, &ask->detail);
    }
    ask->detail_bytes = ask->detail.len;
    if (ask->detail.failed || stored_bytes(ask->keeper) > DETAILS_MAX) {
        err_set(&err, ERR_POLICY_DENIED,
                "calls that wait for approval have more than %zu MiB of text (with this one): wait "
                "for their answers",
                DETAILS_MAX >> 20);
        err_reason(&err, "too_many_waiting");
        refuse_asked_call(ask, &err);
        return;
    }
    describe_ask(ask);
    ask->step = ASK_STATE;
    ask->give_up_ns = clock_mono_ns() + LOCK_PATIENCE_NS;
    put_ask_question(ask);
}

static void ask_previewed(void *arg, const struct preview *preview, const struct err *err)
{
    struct ask *ask = arg;
    const struct call *call = ask->call;
    bool changes = !call->op || call->op->real != OP_REAL_NOT;
    /* What would fail is not worth a question; but of a call that looks, the answer is for later. */
    if (err && (changes || keeper_files_refuse(err))) {
        refuse_asked_call(ask, err);
        return;
    }
    if (changes)
        preview_pin(ask->call, preview);
    ask->cut = !summary_write(call, &ask->summary, &ask->detail);
    if (changes)
        ask->cut |= !summary_preview(call, preview, &ask->detail);
    ready_to_ask(ask);
}

/* Hooks have agreed, or there are none. */
static void ask_person(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    struct call *call = ask->call;
    struct err err;
    /* Nobody is asked about what would then be refused. */
    if (keeper_look(k, call, &err) < 0) {
        refuse_asked_call(ask, &err);
        return;
    }
    if ((int64_t)k->n_asks > config_int(call->workplace->config, "approval.maxWaiting")) {
        err_set(&err, ERR_POLICY_DENIED,
                "%zu calls wait for approval already (approval.maxWaiting): wait for their answers",
                k->n_asks - 1);
        err_reason(&err, "too_many_waiting");
        refuse_asked_call(ask, &err);
        return;
    }
    if (preview_is_possible(call)) {
        ask->step = ASK_PREVIEW;
        session_preview(session_of_call(call), call, ask_previewed, ask);
    } else {
        /* Where it leads cannot be shown: then no link may be on the way. */
        call->verdict.as_named |= call->command && !path_is_root(&call->path);
        ask->cut = !summary_write(call, &ask->summary, &ask->detail);
        summary_content(call, &ask->detail);
        ready_to_ask(ask);
    }
}

static void hooks_said(void *arg, const struct hook_answer *answer)
{
    struct ask *ask = arg;
    struct call *call = ask->call;
    struct err err;
    if (answer->note)
        call->note = mem_dup(answer->note);
    if (answer->kind == VERDICT_DENY) {
        err_set(&err, ERR_POLICY_DENIED, "the tool `%s` is denied by the hook %s%s%s",
                call->tool->name, answer->rule, answer->reason[0] ? ": " : "", answer->reason);
        err_reason(&err, answer->busy ? "too_many_waiting" : "denied_by_hook");
        refuse_asked_call(ask, &err);
        return;
    }
    if (answer->kind == VERDICT_ASK) {
        verdict_ask(&call->verdict);
        snprintf(call->verdict.rule, sizeof call->verdict.rule, "%s", answer->rule);
        if (answer->reason[0])
            shown_text((struct str){answer->reason, strlen(answer->reason)},
                       "hook: ", &ask->detail);
    }
    if (call->verdict.kind == VERDICT_ASK) {
        ask_person(ask);
        return;
    }
    ask_free(ask);
    pipeline_resume(call, NULL);
}

void keeper_hold(void *self, struct call *call)
{
    struct keeper *k = self;
    struct ask *ask = mem_zero(sizeof *ask);
    ask->keeper = k;
    ask->call = call;
    ask->next = k->asks;
    ask->summary = BUF_INIT(SUMMARY_MAX);
    ask->detail = BUF_INIT(DETAIL_MAX);
    ask->proposal = BUF_INIT(SUMMARY_MAX);
    k->asks = ask;
    call->ask = ask;
    if (k->n_asks++ == 0)
        uv_timer_start(&k->poll, keeper_poll, POLL_MS, POLL_MS);
    if (call->verdict.hooks) {
        ask->step = ASK_HOOKS;
        hooks_before(k->hooks, call, hooks_said, ask);
    } else {
        ask_person(ask);
    }
}

/* The caller is not interested any more; someone may have decided just before, and then that is what is recorded. */
static void give_up_ask(struct ask *ask)
{
    struct keeper *k = ask->keeper;
    struct err ignored;
    struct approval now = {0};
    ask->approval.state = APPROVAL_CANCELLED;
    if (approvals_end(k->db, ask->approval.id, APPROVAL_CANCELLED, &ignored) == 0 &&
        approvals_look(k->db, ask->approval.id, &now, &ignored) == 0) {
        ask->approval.state = now.state;
        ask->approval.scope = now.scope;
        ask->approval.decided_by = now.decided_by;
    }
    record(k, ask, "approval.decided");
    tell_ask_over(ask);
    approval_done(&now);
}

void keeper_forget(void *self, struct call *call)
{
    struct keeper *k = self;
    struct ask *ask = call->ask;
    switch (ask->step) {
    case ASK_HOOKS:
        hooks_forget(k->hooks, ask);
        break;
    case ASK_PREVIEW:
        session_preview_cancel(session_of_call(call), ask);
        break;
    case ASK_STATE:
        break;
    case ASK_WAITING:
        give_up_ask(ask);
        break;
    }
    ask_free(ask);
}

void keeper_listen(struct keeper *k, struct keeper_listener *listener)
{
    listener->next = k->listeners;
    k->listeners = listener;
}

bool keeper_can_ask(const struct keeper *k)
{
    for (const struct keeper_listener *l = k->listeners; l; l = l->next) {
        if (l->decides)
            return true;
    }
    return false;
}

void keeper_unlisten(struct keeper *k, struct keeper_listener *listener)
{
    for (struct keeper_listener **at = &k->listeners; *at; at = &(*at)->next) {
        if (*at == listener) {
            *at = listener->next;
            return;
        }
    }
}
