#include "front/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "front/approval_text.h"
#include "front/prompt_parts.h"
#include "front/who.h"
#include "gate/keeper.h"

#define DETAIL_LINES 40
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
    PROMPT_TURN,    /* the terminal is someone else's for now */
    PROMPT_CHOICE,  /* once, session, always, no */
    PROMPT_CONFIRM, /* whether to write the rule */
    PROMPT_SAID,    /* decided here; the keeper tells when it is over */
};

struct prompt {
    struct keeper_listener listener; /* first: the keeper knows the prompt by it */
    struct keeper *keeper;
    struct terminal terminal;
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

static bool say(struct prompt *p, const char *text)
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

/* The line that is answered. What was typed before it stood there is no answer. */
static void put_choice(struct prompt *p)
{
    const struct approval *a = &p->first->approval;
    terminal_forget_input(&p->terminal);
    p->step = PROMPT_CHOICE;
    if (!say(p, a->proposal ? "[o]nce  this [s]ession  [a]lways  [n]o: " : "[o]nce  [n]o: "))
        try_later(p);
}

static void put_question(struct prompt *p)
{
    const struct approval *a = &p->first->approval;
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    if (!terminal_take(&p->terminal)) {
        try_later(p);
        return;
    }
    buf_addf(&out, "\nsandgate: a call waits for your yes (%s, ", a->id);
    approval_text_time(a->expires_ms - clock_unix_ms(), &out);
    buf_add_text(&out, " left)\n");
    approval_text_block(a, terminal_width(&p->terminal), DETAIL_LINES, &out);
    if (out.failed || !terminal_say(&p->terminal, buf_str(&out))) {
        try_later(p);
        return;
    }
    uv_poll_start(&p->poll, UV_READABLE, on_input);
    put_choice(p);
}

static void on_retry(uv_timer_t *timer)
{
    struct prompt *p = timer->data;
    if (p->first && p->step == PROMPT_TURN)
        put_question(p);
}

/* Shows the rule that would be written. */
static void put_confirmation(struct prompt *p)
{
    const char *rule = p->first->approval.proposal;
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    buf_add_text(&out,
                 "this rule would be for always, in approved.json of the configuration folder:\n");
    approval_text_rule((struct str){rule, strlen(rule)}, terminal_width(&p->terminal), &out);
    buf_add_text(&out, "write it? [y/n]: ");
    terminal_forget_input(&p->terminal);
    p->step = PROMPT_CONFIRM;
    if (out.failed || !terminal_say(&p->terminal, buf_str(&out)))
        try_later(p);
}

/* --- answers */

static void stop_asking(struct prompt *p)
{
    uv_poll_stop(&p->poll);
    uv_timer_stop(&p->retry);
    terminal_release(&p->terminal);
    p->step = PROMPT_IDLE;
}

static void decide(struct prompt *p, bool yes, enum approval_scope scope)
{
    struct err err;
    FREE_AT_END char *who = who_decides(NULL);
    struct approval_decision decision = {.yes = yes, .scope = scope, .by = who};
    if (keeper_decide(p->keeper, p->first->approval.id, &decision, &err) < 0) {
        FREE_AT_END char *text = mem_format("sandgate: %s\n", err.message);
        say(p, text);
        /* Of one that waits no more the keeper tells. */
        if (err.code != ERR_CONFLICT && err.code != ERR_NOT_FOUND) {
            put_choice(p);
            return;
        }
    }
    stop_asking(p);
    p->step = PROMPT_SAID;
}

struct choice {
    const char *letter;
    const char *word;
    bool yes;
    enum approval_scope scope;
};

static const struct choice choices[] = {
    {"n", "no", false, APPROVE_ONCE},
    {"o", "once", true, APPROVE_ONCE},
    {"s", "session", true, APPROVE_SESSION},
    {"a", "always", true, APPROVE_ALWAYS},
};

static bool is_line(const struct prompt *p, const char *text)
{
    return p->terminal.n == strlen(text) && memcmp(p->terminal.line, text, p->terminal.n) == 0;
}

static const struct choice *find_choice(const struct prompt *p)
{
    const struct approval *a = &p->first->approval;
    FREE_AT_END char *approve = mem_format("/approve %s", a->id);
    FREE_AT_END char *deny = mem_format("/deny %s", a->id);
    if (is_line(p, deny))
        return &choices[0];
    if (is_line(p, approve))
        return &choices[1];
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        if ((is_line(p, choices[i].letter) || is_line(p, choices[i].word)) &&
            (choices[i].scope == APPROVE_ONCE || a->proposal))
            return &choices[i];
    }
    return NULL;
}

static void take_choice(struct prompt *p)
{
    const struct choice *choice = find_choice(p);
    if (!choice)
        put_choice(p);
    else if (choice->scope == APPROVE_ALWAYS)
        put_confirmation(p);
    else
        decide(p, choice->yes, choice->scope);
}

static void take_line(struct prompt *p)
{
    if (p->step == PROMPT_CHOICE)
        take_choice(p);
    else if (is_line(p, "y") || is_line(p, "yes"))
        decide(p, true, APPROVE_ALWAYS);
    else if (is_line(p, "n") || is_line(p, "no"))
        put_choice(p);
    else
        put_confirmation(p);
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
    switch (terminal_read(&p->terminal)) {
    case INPUT_NONE:
        return;
    case INPUT_LINE:
        take_line(p);
        break;
    case INPUT_SEVERAL:
        say(p, "sandgate: that was more than one line at once; type the answer\n");
        put_choice(p);
        break;
    case INPUT_END:
        say(p, "\n");
        decide(p, false, APPROVE_ONCE);
        break;
    }
    p->terminal.n = 0;
}

/* --- what the keeper tells */

static void next_question(struct prompt *p)
{
    if (p->first && p->step == PROMPT_IDLE)
        put_question(p);
}

static void asked(struct keeper_listener *self, const struct approval *approval)
{
    struct prompt *p = (struct prompt *)self;
    struct question **at = &p->first;
    while (*at)
        at = &(*at)->next;
    *at = question_new(approval);
    next_question(p);
}

static void tell_end(struct prompt *p, const struct approval *approval)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    bool here = p->step == PROMPT_SAID;
    buf_addf(&out, "%ssandgate: %s: ", here ? "" : "\n", approval->id);
    approval_text_state(approval, &out);
    buf_add_char(&out, '\n');
    terminal_say(&p->terminal, buf_str(&out));
}

static void over(struct keeper_listener *self, const struct approval *approval)
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
        tell_end(p, approval);
    stop_asking(p);
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
    p->listener.asked = asked;
    p->listener.over = over;
    p->keeper = gate->keeper;
    keeper_listen(p->keeper, &p->listener);
    return p;
}

static void closed(uv_handle_t *handle)
{
    struct prompt *p = handle->data;
    if (handle == (uv_handle_t *)&p->poll) {
        uv_close((uv_handle_t *)&p->retry, closed);
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
    stop_asking(p);
    uv_close((uv_handle_t *)&p->poll, closed);
}
