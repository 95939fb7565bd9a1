#include "front/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/screen_reset.h"
#include "front/dialogue.h"
#include "front/who.h"
#include "gate/keeper.h"

#define TEXT_MAX (1u << 20)
/* How often a terminal that cannot be had is tried again. */
#define RETRY_MS 200

/* A call to be asked about; its own copy. */
struct question {
    struct question *next;
    struct approval approval;
};

enum prompt_step {
    PROMPT_IDLE,
    PROMPT_TURN, /* the terminal is someone else's for now */
    PROMPT_ASKS,
    PROMPT_SAID, /* decided here; the keeper tells when it is over */
};

struct prompt {
    struct keeper_listener listener; /* first: the keeper knows the prompt by it */
    struct keeper *keeper;
    struct terminal terminal;
    struct dialogue dialogue; /* PROMPT_ASKS: about the first */
    struct question *first;
    enum prompt_step step;
    uv_poll_t poll;
    uv_timer_t retry;
};

/* --- questions */

static struct question *question_new(const struct approval *a)
{
    struct question *q = mem_zero(sizeof *q);
    q->approval = (struct approval){
        .tool = mem_dup(a->tool),
        .agent = mem_dup(a->agent),
        .session = mem_dup(a->session),
        .workspace = mem_dup(a->workspace),
        .rule = mem_dup(a->rule),
        .summary = mem_dup(a->summary),
        .detail = mem_dup(a->detail),
        .proposal = mem_dup(a->proposal),
        .expires_ms = a->expires_ms,
    };
    memcpy(q->approval.id, a->id, sizeof q->approval.id);
    return q;
}

static void question_free(struct question *q)
{
    approval_done(&q->approval);
    free(q);
}

/* --- asking */

static void on_input(uv_poll_t *poll, int status, int events);
static void on_retry(uv_timer_t *timer);

static bool say_on_prompt(struct prompt *p, const char *text)
{
    return terminal_say(&p->terminal, (struct str){text, strlen(text)});
}

static void try_later(struct prompt *p)
{
    terminal_release(&p->terminal);
    uv_poll_stop(&p->poll);
    p->step = PROMPT_TURN;
    uv_timer_start(&p->retry, on_retry, RETRY_MS, 0);
}

static void put_prompt_question(struct prompt *p)
{
    const char *reset = screen_reset_before_question();
    if (!terminal_take(&p->terminal) ||
        !terminal_say(&p->terminal, (struct str){reset, strlen(reset)}) ||
        dialogue_begin(&p->dialogue, &p->terminal, &p->first->approval) == DIALOGUE_UNSHOWN) {
        try_later(p);
        return;
    }
    p->step = PROMPT_ASKS;
    uv_poll_start(&p->poll, UV_READABLE, on_input);
}

static void on_retry(uv_timer_t *timer)
{
    struct prompt *p = timer->data;
    if (p->first && p->step == PROMPT_TURN)
        put_prompt_question(p);
}

/* --- answers */

static void stop_prompt_question(struct prompt *p)
{
    uv_poll_stop(&p->poll);
    uv_timer_stop(&p->retry);
    terminal_release(&p->terminal);
    p->step = PROMPT_IDLE;
}

static void decide_by_prompt(struct prompt *p, struct approval_decision *decision)
{
    struct err err;
    FREE_AT_END char *who = who_decides(NULL);
    decision->by = who;
    if (keeper_decide(p->keeper, p->first->approval.id, decision, &err) < 0) {
        FREE_AT_END char *text = mem_format("sandgate: %s\n", err.message);
        say_on_prompt(p, text);
        /* Of one that waits no more the keeper tells. */
        if (err.code != ERR_CONFLICT && err.code != ERR_NOT_FOUND) {
            if (dialogue_again(&p->dialogue) == DIALOGUE_UNSHOWN)
                try_later(p);
            return;
        }
    }
    stop_prompt_question(p);
    p->step = PROMPT_SAID;
}

static void on_input(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct prompt *p = poll->data;
    /* Since it was put into the background, what is typed is the shell's. */
    if (!terminal_is_ours(&p->terminal)) {
        try_later(p);
        return;
    }
    struct approval_decision decision = {.yes = false, .scope = APPROVE_ONCE};
    switch (dialogue_take(&p->dialogue, &decision)) {
    case DIALOGUE_ASKS:
        break;
    case DIALOGUE_UNSHOWN:
        try_later(p);
        break;
    case DIALOGUE_DECIDED:
        decide_by_prompt(p, &decision);
        break;
    case DIALOGUE_END:
        say_on_prompt(p, "\n");
        decide_by_prompt(p, &decision);
        break;
    }
}

/* --- what the keeper tells */

static void next_question(struct prompt *p)
{
    if (p->first && p->step == PROMPT_IDLE)
        put_prompt_question(p);
}

static void queue_question(struct keeper_listener *self, const struct approval *approval)
{
    struct prompt *p = (struct prompt *)self;
    struct question **at = &p->first;
    while (*at)
        at = &(*at)->next;
    *at = question_new(approval);
    next_question(p);
}

static void tell_prompt_end(struct prompt *p, const struct approval *approval)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    bool here = p->step == PROMPT_SAID;
    buf_addf(&out, "%ssandgate: %s: ", here ? "" : "\n", approval->id);
    approval_text_state(approval, &out);
    buf_add_char(&out, '\n');
    terminal_say(&p->terminal, buf_str(&out));
}

static void drop_question(struct keeper_listener *self, const struct approval *approval)
{
    struct prompt *p = (struct prompt *)self;
    struct question **at = &p->first;
    while (*at && strcmp((*at)->approval.id, approval->id) != 0)
        at = &(*at)->next;
    struct question *q = *at;
    if (!q)
        return;
    bool current = q == p->first;
    *at = q->next;
    question_free(q);
    if (!current)
        return;
    if (p->step != PROMPT_TURN)
        tell_prompt_end(p, approval);
    stop_prompt_question(p);
    next_question(p);
}

/* --- life */

struct prompt *prompt_start(struct gate *gate)
{
    struct prompt *p = mem_zero(sizeof *p);
    if (!gate->keeper || !terminal_open(&p->terminal) ||
        uv_poll_init(&gate->loop, &p->poll, p->terminal.fd) < 0) {
        terminal_close(&p->terminal);
        free(p);
        return NULL;
    }
    uv_timer_init(&gate->loop, &p->retry);
    uv_unref((uv_handle_t *)&p->poll);
    uv_unref((uv_handle_t *)&p->retry);
    p->poll.data = p->retry.data = p;
    p->listener.decides = true;
    p->listener.asked = queue_question;
    p->listener.over = drop_question;
    p->keeper = gate->keeper;
    keeper_listen(p->keeper, &p->listener);
    return p;
}

static void on_prompt_closed(uv_handle_t *handle)
{
    struct prompt *p = handle->data;
    if (handle == (uv_handle_t *)&p->poll) {
        uv_close((uv_handle_t *)&p->retry, on_prompt_closed);
        return;
    }
    terminal_close(&p->terminal);
    free(p);
}

void prompt_stop(struct prompt *p)
{
    if (!p)
        return;
    keeper_unlisten(p->keeper, &p->listener);
    for (struct question *q; (q = p->first);) {
        p->first = q->next;
        question_free(q);
    }
    stop_prompt_question(p);
    uv_close((uv_handle_t *)&p->poll, on_prompt_closed);
}
