#include "front/mcp_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "front/who.h"
#include "gate/keeper.h"

#define MS 1000000u
#define TICK_MS 1000
/* Clients whose limit starts anew with progress have one of 60 s or more. */
#define BEAT_NS (UINT64_C(10000) * MS)
/* Without a token for progress one client gives up after 60 s, and says nothing. */
#define SILENT_NS (UINT64_C(45000) * MS)
/* The shortest limit that progress does not move is 300 s. */
#define BEATEN_NS (UINT64_C(285000) * MS)
/* Nobody reads and answers that fast: a client that runs without a person said it. */
#define HUMAN_NS (UINT64_C(300) * MS)
/* An answer that cannot be written down for so long counts as none. */
#define UNWRITTEN_NS (UINT64_C(30000) * MS)
#define ID_JSON_MAX 32

struct question {
    struct question *next;
    char id[APPROVAL_ID_MAX];
    char dialog[ID_JSON_MAX]; /* our request's id as JSON; "": there is no dialog (any more) */
    bool rule;                /* session and always are among its answers */
    char *uid;
    uint64_t asked_ns;
    uint64_t beat_ns; /* of the last progress */
    bool beats;       /* the client takes progress */
    /* An answer that could not be written down yet, because another process has state.db locked. */
    uint64_t answered_ns; /* 0: there is none */
    struct approval_decision decision;
    char *by;
    char unwritten[160]; /* why not */
};

struct mcp_ask {
    struct keeper_listener listener; /* first */
    struct gate *gate;
    struct lines *lines;
    struct mcp_ask_user user;
    enum mcp_elicits elicits;
    struct question *questions;
    uint64_t n_dialogs;
    uv_timer_t timer;
};

static struct question **question_slot(struct mcp_ask *m, const char *id)
{
    struct question **at = &m->questions;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static void forget_question(struct question *q)
{
    free(q->uid);
    free(q->by);
    free(q);
}

/* --- without a dialog */

static bool tell_how(struct mcp_ask *m, const struct question *q)
{
    BUF_AT_END struct buf text = BUF_INIT(400);
    buf_addf(&text,
             "waits for approval: `sandgate approve %s` or `sandgate deny %s`; `sandgate approvals "
             "%s` shows all of it",
             q->id, q->id, q->id);
    return m->user.tell(m->user.arg, q->uid, buf_str(&text));
}

/* The client is about to give up: what it does not wait for must not happen. */
static void withdraw_call(struct mcp_ask *m, const struct question *q, uint64_t now)
{
    char why[320];
    struct call *call = m->user.find(m->user.arg, q->uid);
    if (!call)
        return;
    if (q->answered_ns) {
        snprintf(
            why, sizeof why,
            "the answer to question %s could not be written down, so the call is withdrawn and "
            "nothing was done: %s",
            q->id, q->unwritten);
        pipeline_cancel(call, ERR_APPROVAL_TIMEOUT, why);
        return;
    }
    snprintf(why, sizeof why,
             "nobody approved this call in %" PRIu64
             " s (question %s); it is withdrawn and nothing was done. Ask the user to be at a "
             "terminal with `sandgate approvals --watch`, then call again",
             (now - q->asked_ns) / 1000 / MS, q->id);
    pipeline_cancel(call, ERR_APPROVAL_TIMEOUT, why);
}

static void write_answer_down(struct mcp_ask *m, struct question *q);

/* Whether the client is about to give up, or the answer takes too long to be written down. */
static bool waits_in_vain(const struct question *q, uint64_t now)
{
    if (q->answered_ns)
        return now - q->answered_ns >= UNWRITTEN_NS;
    return !q->dialog[0] && now - q->asked_ns >= (q->beats ? BEATEN_NS : SILENT_NS);
}

static void tick_questions(uv_timer_t *timer)
{
    struct mcp_ask *m = timer->data;
    uint64_t now = clock_mono_ns();
    for (struct question *q = m->questions, *next; q; q = next) {
        next = q->next;
        if (q->beats && now - q->beat_ns >= BEAT_NS) {
            q->beat_ns = now;
            tell_how(m, q);
        }
        if (waits_in_vain(q, now)) {
            withdraw_call(m, q, now);
            return; /* the list is not what it was */
        }
        if (q->answered_ns)
            write_answer_down(m, q);
    }
}

/* --- with one */

static void open_dialog(struct mcp_ask *m, struct question *q, const struct approval *a)
{
    struct buf *out = m->elicits == MCP_ELICITS_NOT ? NULL : lines_begin_answer(m->lines);
    if (!out)
        return;
    snprintf(q->dialog, sizeof q->dialog, "\"sandgate-%" PRIu64 "\"", ++m->n_dialogs);
    struct mcp_question question = {
        .id = a->id, .summary = a->summary, .detail = a->detail, .rule = a->proposal};
    q->rule = mcp_write_elicitation(q->dialog, &question, m->elicits, out);
    lines_end_answer(m->lines);
}

static void close_dialog(struct mcp_ask *m, struct question *q)
{
    struct buf *out = q->dialog[0] ? lines_begin_answer(m->lines) : NULL;
    if (out) {
        mcp_write_cancelled(q->dialog, "it was answered elsewhere, or waits no more", out);
        lines_end_answer(m->lines);
    }
    q->dialog[0] = '\0';
}

/* Where someone else was faster, or the time is over, the question is over, too: the keeper tells. */
static void write_answer_down(struct mcp_ask *m, struct question *q)
{
    struct err err;
    if (keeper_decide(m->gate->keeper, q->id, &q->decision, &err) == 0 ||
        err.code == ERR_CONFLICT || err.code == ERR_NOT_FOUND) {
        q->answered_ns = 0;
        return;
    }
    snprintf(q->unwritten, sizeof q->unwritten, "%.*s", (int)sizeof q->unwritten - 1, err.message);
}

static void decide(struct mcp_ask *m, struct question *q, const struct mcp_answer *answer)
{
    static const char *const how[] = {
        [MCP_ANSWER_FAILED] = "the client's dialog",
        [MCP_ANSWER_ACCEPTED] = "the client's dialog",
        [MCP_ANSWER_DECLINED] = "the client's dialog, declined",
        [MCP_ANSWER_CANCELLED] = "the client's dialog, closed without an answer",
    };
    struct approval_decision decision = {.scope = APPROVE_ONCE};
    q->by = who_decides(how[answer->kind]);
    decision.by = q->by;
    for (int i = 0; answer->kind == MCP_ANSWER_ACCEPTED && approval_scope_names[i]; i++) {
        if (strcmp(answer->decision, approval_scope_names[i]) == 0 &&
            (i == APPROVE_ONCE || q->rule)) {
            decision.yes = true;
            decision.scope = (enum approval_scope)i;
        }
    }
    q->decision = decision;
    q->answered_ns = clock_mono_ns();
    write_answer_down(m, q);
}

void mcp_ask_answered(struct mcp_ask *m, const char *id_json, const struct mcp_answer *answer)
{
    struct question *q = m->questions;
    while (q && (!q->dialog[0] || strcmp(q->dialog, id_json) != 0))
        q = q->next;
    if (!q)
        return;
    q->dialog[0] = '\0';
    bool nobody = clock_mono_ns() - q->asked_ns < HUMAN_NS;
    if (!nobody && answer->kind != MCP_ANSWER_FAILED)
        decide(m, q, answer);
}

/* --- the keeper's word */

static void tell_mcp_asked(struct keeper_listener *self, const struct approval *a)
{
    struct mcp_ask *m = (struct mcp_ask *)self;
    if (!m->user.find(m->user.arg, a->call))
        return;
    struct question *q = mem_zero(sizeof *q);
    q->next = m->questions;
    m->questions = q;
    memcpy(q->id, a->id, sizeof q->id);
    q->uid = mem_dup(a->call);
    q->asked_ns = q->beat_ns = clock_mono_ns();
    open_dialog(m, q, a);
    q->beats = tell_how(m, q);
    if (!uv_is_active((uv_handle_t *)&m->timer))
        uv_timer_start(&m->timer, tick_questions, TICK_MS, TICK_MS);
}

static void tell_mcp_over(struct keeper_listener *self, const struct approval *a)
{
    struct mcp_ask *m = (struct mcp_ask *)self;
    struct question **at = question_slot(m, a->id);
    struct question *q = *at;
    if (!q)
        return;
    *at = q->next;
    close_dialog(m, q);
    forget_question(q);
    if (!m->questions)
        uv_timer_stop(&m->timer);
}

void mcp_ask_elicit(struct mcp_ask *m, enum mcp_elicits elicits)
{
    m->elicits = elicits;
}

struct mcp_ask *mcp_ask_start(struct gate *gate, struct lines *lines,
                              const struct mcp_ask_user *user)
{
    struct mcp_ask *m = mem_zero(sizeof *m);
    m->listener.asked = tell_mcp_asked;
    m->listener.over = tell_mcp_over;
    m->gate = gate;
    m->lines = lines;
    m->user = *user;
    uv_timer_init(&gate->loop, &m->timer);
    m->timer.data = m;
    keeper_listen(gate->keeper, &m->listener);
    return m;
}

static void free_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void mcp_ask_free(struct mcp_ask *m)
{
    if (!m)
        return;
    keeper_unlisten(m->gate->keeper, &m->listener);
    for (struct question *q = m->questions, *next; q; q = next) {
        next = q->next;
        forget_question(q);
    }
    uv_close((uv_handle_t *)&m->timer, free_closed);
}
