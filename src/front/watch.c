#include "front/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/shown.h"
#include "front/dialogue.h"
#include "front/who.h"
#include "gate/decide.h"

/* How soon a new call, or an answer that was given elsewhere, is noticed. */
#define LOOK_MS 100
/* That a gate died changes nothing in the database: it is looked at every so many times anyway. */
#define LOOK_ANYWAY 10
#define TEXT_MAX (1u << 20)
#define MESSAGE_MAX 1000

struct watch {
    struct db *db;
    struct terminal terminal;
    struct dialogue dialogue;
    struct approval current; /* that is asked about */
    bool asks;
    bool look;        /* the database has changed since it was last looked at */
    unsigned version; /* of it */
    unsigned turn;
    const char *only; /* NULL: all that wait */
    const char *by;
    bool yes; /* the last decision here */
    bool over;
};

bool watch_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool watch_is_long(const struct approval *approval)
{
    struct terminal terminal;
    if (!watch_is_possible() || !terminal_open(&terminal))
        return false;
    struct approval_style style = terminal_style(&terminal);
    bool is_long = approval_rows_count(approval, &style) > terminal_height(&terminal);
    terminal_close(&terminal);
    return is_long;
}

static void stop_watch_question(struct watch *w)
{
    terminal_release(&w->terminal);
    approval_done(&w->current);
    w->asks = false;
    w->look = true;
}

static void say_on_watch(struct watch *w, const char *before, struct str text)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    buf_addf(&out, "%ssandgate: ", before);
    shown_line(text, MESSAGE_MAX, &out);
    buf_add_char(&out, '\n');
    terminal_say(&w->terminal, buf_str(&out));
}

/* What became of the current one; then it is over here. */
static void tell_watch_end(struct watch *w, const char *before)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    CLEANUP(approval_done) struct approval now = {0};
    struct err err;
    buf_addf(&text, "%s: ", w->current.id);
    if (approvals_look(w->db, w->current.id, &now, &err) < 0)
        buf_add_text(&text, "does not wait any more");
    else
        approval_text_state(&now, &text);
    say_on_watch(w, before, buf_str(&text));
    stop_watch_question(w);
    w->over = w->over || w->only;
}

static void decide_on_watch(struct watch *w, struct approval_decision *decision)
{
    struct err err = {0};
    decision->by = w->by;
    if (decide_approval(w->db, w->current.id, decision, REMEMBER_WAIT, &err) == 0) {
        w->yes = decision->yes;
        tell_watch_end(w, "");
        return;
    }
    say_on_watch(w, "", (struct str){err.message, strlen(err.message)});
    if (err.code == ERR_CONFLICT || err.code == ERR_NOT_FOUND) {
        /* Someone was quicker, or it ended by itself: the message says so. */
        stop_watch_question(w);
        w->over = w->over || w->only;
    } else if (dialogue_again(&w->dialogue) == DIALOGUE_UNSHOWN) {
        stop_watch_question(w);
    }
}

/* --- what waits */

struct found {
    const struct watch *watch;
    char first[APPROVAL_ID_MAX]; /* "": none */
    bool current;                /* the one that is asked about still waits */
};

static int find_waiting_approval(void *arg, const struct approval *a)
{
    struct found *found = arg;
    const struct watch *w = found->watch;
    if (!found->first[0] && (!w->only || strcmp(w->only, a->id) == 0))
        memcpy(found->first, a->id, sizeof found->first);
    if (w->asks && strcmp(w->current.id, a->id) == 0)
        found->current = true;
    return 0;
}

/* Where the terminal is not free, or the call is over by now, the next turn looks again. */
static void ask_on_watch(struct watch *w, const char *id)
{
    struct err ignored;
    w->look = true;
    if (!terminal_take(&w->terminal))
        return;
    if (approvals_get(w->db, id, &w->current, &ignored) < 0 ||
        w->current.state != APPROVAL_WAITING ||
        dialogue_begin(&w->dialogue, &w->terminal, &w->current) == DIALOGUE_UNSHOWN) {
        stop_watch_question(w);
        return;
    }
    w->asks = true;
}

/* 0; -1 with err where the database cannot be used any more. */
static int look_for_waiting(struct watch *w, struct err *err)
{
    struct found found = {.watch = w};
    unsigned version = db_version(w->db);
    bool anyway = w->turn++ % LOOK_ANYWAY == 0;
    if (!anyway && !w->look && version == w->version && version != 0)
        return 0;
    w->version = version;
    w->look = false;
    if (approvals_each(w->db, true, find_waiting_approval, &found, err) < 0) {
        w->look = true;
        return strcmp(err->reason, "state_locked") == 0 ? 0 : -1;
    }
    if (w->asks && !found.current)
        tell_watch_end(w, "\n");
    if (w->asks || w->over)
        return 0;
    if (w->only && !found.first[0]) {
        CLEANUP(approval_done) struct approval now = {0};
        w->over = true;
        return approvals_look(w->db, w->only, &now, err);
    }
    if (found.first[0])
        ask_on_watch(w, found.first);
    return 0;
}

/* --- what is typed */

static void take_watch_answer(struct watch *w)
{
    struct approval_decision decision = {.yes = false, .scope = APPROVE_ONCE};
    /* In the background, what is typed is the shell's. */
    if (!terminal_is_ours(&w->terminal)) {
        stop_watch_question(w);
        return;
    }
    switch (dialogue_take(&w->dialogue, &decision)) {
    case DIALOGUE_ASKS:
        break;
    case DIALOGUE_UNSHOWN:
        stop_watch_question(w);
        break;
    case DIALOGUE_DECIDED:
        decide_on_watch(w, &decision);
        break;
    case DIALOGUE_END:
        /* Who leaves has not answered: others may. */
        say_on_watch(w, "\n", STR("the call still waits"));
        stop_watch_question(w);
        w->over = true;
        break;
    }
}

static void wait_a_moment(struct watch *w)
{
    struct pollfd input = {.fd = w->asks ? w->terminal.fd : -1, .events = POLLIN};
    if (poll(&input, 1, LOOK_MS) > 0)
        take_watch_answer(w);
}

static int watch_terminal(struct watch *w, struct err *err)
{
    FREE_AT_END char *by = who_decides(w->only ? "sandgate approve" : "sandgate approvals");
    int r = 0;
    w->by = by;
    w->look = true;
    if (!terminal_open(&w->terminal))
        return err_set(err, ERR_INTERNAL, "the terminal cannot be opened");
    if (!w->only)
        say_on_watch(w, "", STR("calls that wait for a yes are shown as they come; Ctrl-C ends"));
    while (r == 0 && !w->over) {
        *err = (struct err){0};
        r = look_for_waiting(w, err);
        if (r == 0 && !w->over)
            wait_a_moment(w);
    }
    stop_watch_question(w);
    terminal_close(&w->terminal);
    return r;
}

int watch_all(struct db *db, struct err *err)
{
    struct watch w = {.db = db};
    return watch_terminal(&w, err);
}

int watch_one(struct db *db, const char *id, struct err *err)
{
    struct watch w = {.db = db, .only = id};
    int r = watch_terminal(&w, err);
    return r < 0 ? -1 : !w.yes;
}
