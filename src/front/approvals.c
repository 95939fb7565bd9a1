/* `sandgate approvals`: the calls that wait for a yes, what became of others, and the rules approved for always. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "front/approval_text.h"
#include "front/front.h"
#include "front/prompt_parts.h"
#include "front/watch.h"
#include "gate/remember.h"
#include "gate/state.h"

#define OPTIONS (OPTIONS_LISTING | OPTIONS_WAITING)
#define OUT_MAX ((size_t)1 << 30)
#define WATCH_MS 100

struct listing {
    const struct options *o;
    struct buf *out;
    struct json_out j;
};

static int list_approval(void *arg, const struct approval *a)
{
    struct listing *l = arg;
    if (l->o->json)
        approval_text_json(a, false, &l->j);
    else
        approval_text_line(a, l->o->all, clock_unix_ms(), l->out);
    return 0;
}

static int list_approvals(struct db *db, const struct options *o, struct buf *out, struct err *err)
{
    struct listing l = {o, out, {.out = out}};
    if (o->json)
        jo_open(&l.j, '[');
    if (approvals_each(db, !o->all, list_approval, &l, err) < 0)
        return -1;
    if (!o->json)
        return 0;
    jo_close(&l.j, ']');
    return buf_add_char(out, '\n');
}

/* --- as they come */

struct watching {
    const struct options *o;
    struct db *db;
    struct buf out;
    char (*seen)[APPROVAL_ID_MAX]; /* those that waited the last time */
    size_t n_seen;
    char (*now)[APPROVAL_ID_MAX];
    size_t n_now;
};

/* One that is gone by now is not told of. */
static void add_whole(struct watching *w, const char *id)
{
    CLEANUP(approval_done) struct approval a = {0};
    struct err err;
    struct json_out j = {.out = &w->out};
    if (approvals_get(w->db, id, &a, &err) < 0 || a.state != APPROVAL_WAITING)
        return;
    approval_text_json(&a, true, &j);
    buf_add_char(&w->out, '\n');
}

static int tell_new(void *arg, const struct approval *a)
{
    struct watching *w = arg;
    w->now = mem_grow(w->now, w->n_now + 1, sizeof *w->now);
    memcpy(w->now[w->n_now++], a->id, APPROVAL_ID_MAX);
    for (size_t i = 0; i < w->n_seen; i++) {
        if (strcmp(w->seen[i], a->id) == 0)
            return 0;
    }
    if (w->o->json)
        add_whole(w, a->id);
    else
        approval_text_line(a, false, clock_unix_ms(), &w->out);
    return 0;
}

/* 1: the database was locked, and it is worth another try. */
static int watch_turn(struct db *db, struct watching *w, struct err *err)
{
    w->n_now = 0;
    if (approvals_each(db, true, tell_new, w, err) < 0) {
        w->out.len = 0;
        return strcmp(err->reason, "state_locked") == 0 ? 1 : -1;
    }
    char(*old)[APPROVAL_ID_MAX] = w->seen;
    w->seen = w->now;
    w->n_seen = w->n_now;
    w->now = old;
    if (w->out.len && front_put(buf_str(&w->out)) < 0)
        return err_set(err, ERR_INTERNAL, "nobody reads the output");
    w->out.len = 0;
    return 0;
}

/* Until a signal ends it. */
static int print_changing_approvals(struct db *db, const struct options *o, struct err *err)
{
    struct watching w = {.o = o, .db = db, .out = BUF_INIT(OUT_MAX)};
    unsigned version = 0;
    for (int r = 1; r >= 0;) {
        unsigned now = db_version(db);
        *err = (struct err){0};
        if (r == 1 || now != version || now == 0)
            r = watch_turn(db, &w, err);
        version = now;
        if (r >= 0)
            nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * 1000000L}, NULL);
    }
    buf_done(&w.out);
    free(w.seen);
    free(w.now);
    return -1;
}

/* --- one of them */

static void add_field(const char *label, const char *text, struct buf *out)
{
    buf_addf(out, "%s: ", label);
    shown_line((struct str){text, strlen(text)}, 1000, out);
    buf_add_char(out, '\n');
}

static void show_text(const struct approval *a, struct buf *out)
{
    char asked[CLOCK_TEXT_MAX];
    struct approval_style style = terminal_style_of(STDOUT_FILENO);
    clock_format_utc(a->asked_ms, asked);
    buf_addf(out, "%s  ", a->id);
    approval_text_state(a, out);
    if (a->state == APPROVAL_WAITING) {
        buf_add_text(out, ", ");
        approval_text_time(a->expires_ms - clock_unix_ms(), out);
        buf_add_text(out, " left");
    }
    buf_addf(out, "\nasked: %s\n", asked);
    add_field("tool", a->tool, out);
    add_field("dialect", a->dialect, out);
    approval_rows_add(a, &style, 0, SIZE_MAX, out);
    if (!a->proposal)
        return;
    buf_add_text(out, "for always this rule would be written:\n");
    approval_text_rule((struct str){a->proposal, strlen(a->proposal)}, &style, out);
}

static int show_approval(struct db *db, const struct options *o, struct buf *out, struct err *err)
{
    char id[APPROVAL_ID_MAX];
    CLEANUP(approval_done) struct approval a = {0};
    struct json_out j = {.out = out};
    if (o->n_words > 1 ||
        !approval_text_id((struct str){o->words[0], strlen(o->words[0])}, "/approve", id))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "this is no id: `sandgate approvals` lists them; see --help");
    if (approvals_get(db, id, &a, err) < 0)
        return -1;
    if (!o->json) {
        show_text(&a, out);
        return 0;
    }
    approval_text_json(&a, true, &j);
    return buf_add_char(out, '\n');
}

/* --- rules for always */

static void list_rule(void *arg, const struct remembered *rule)
{
    struct listing *l = arg;
    if (!l->o->json) {
        buf_addf(l->out, "%zu  ", rule->number);
        shown_line((struct str){rule->at, strlen(rule->at)}, 100, l->out);
        buf_add_text(l->out, "  ");
        shown_line((struct str){rule->by, strlen(rule->by)}, 200, l->out);
        buf_add_text(l->out, "  ");
        shown_line(rule->rule, 4000, l->out);
        buf_add_char(l->out, '\n');
        return;
    }
    jo_open(&l->j, '{');
    jo_kint(&l->j, "number", (int64_t)rule->number);
    jo_key(&l->j, "rule");
    jo_raw(&l->j, rule->rule);
    jo_ktext(&l->j, "approved_by", rule->by);
    jo_ktext(&l->j, "approved_at", rule->at);
    jo_close(&l->j, '}');
}

static int list_rules(const struct options *o, struct buf *out, struct err *err)
{
    struct listing l = {o, out, {.out = out}};
    if (o->n_words > 1)
        return err_set(err, ERR_INVALID_ARGUMENTS, "`approvals rules` takes nothing more");
    if (o->json)
        jo_open(&l.j, '[');
    if (remember_each(list_rule, &l, err) < 0)
        return -1;
    if (!o->json)
        return 0;
    jo_close(&l.j, ']');
    return buf_add_char(out, '\n');
}

struct wanted {
    size_t number;
    char *rule;
};

static void find_rule(void *arg, const struct remembered *rule)
{
    struct wanted *wanted = arg;
    if (rule->number == wanted->number)
        wanted->rule = mem_copy(rule->rule.p, rule->rule.n);
}

static int forget_approved_rule(const struct options *o, struct buf *out, struct err *err)
{
    char *end = NULL;
    const char *word = o->n_words == 2 ? o->words[1] : "";
    struct wanted wanted = {.number = strtoul(word, &end, 10)};
    if (*word < '0' || *word > '9' || *end)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "which rule? `sandgate approvals rules` shows their numbers");
    int r = remember_each(find_rule, &wanted, err);
    FREE_AT_END char *rule = wanted.rule;
    struct str expected = {rule, rule ? strlen(rule) : 0};
    /* The one that is shown here, even if another process changes the list meanwhile. */
    if (r < 0 || remember_forget(wanted.number, expected, err) < 0)
        return -1;
    struct approval_style style = terminal_style_of(STDOUT_FILENO);
    buf_add_text(out, "forgotten:\n");
    approval_text_rule(expected, &style, out);
    return 0;
}

static void add_approvals_help(struct buf *out)
{
    buf_add_text(
        out,
        "usage: sandgate approvals [ID] [options]\n"
        "       sandgate approvals rules\n"
        "       sandgate approvals forget NUMBER\n\n"
        "Lists the calls that wait for a yes: id, age, tool, agent, session, what it is. With an id "
        "it shows\neverything of one. On a terminal --watch asks about each call as it comes and "
        "takes the answer.\n`rules` are those approved for always, `forget` takes one back.\n\n");
    options_help(OPTIONS, out);
}

static int run_approvals_command(const struct options *o, struct buf *out, struct err *err)
{
    FD_AT_END int state_fd = -1;
    DB_AT_END struct db *db = NULL;
    const char *word = o->n_words ? o->words[0] : "";
    if (strcmp(word, "rules") == 0)
        return list_rules(o, out, err);
    if (strcmp(word, "forget") == 0)
        return forget_approved_rule(o, out, err);
    if (state_open(&state_fd, err) < 0 || db_open(&db, state_fd, true, err) < 0)
        return -1;
    if (o->watch && !o->json && watch_is_possible())
        return watch_all(db, err);
    if (o->watch)
        return print_changing_approvals(db, o, err);
    return o->n_words ? show_approval(db, o, out, err) : list_approvals(db, o, out, err);
}

int front_approvals(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    if (options_read(argc, argv, OPTIONS, 2, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help) {
        add_approvals_help(&out);
    } else if (run_approvals_command(&o, &out, &err) < 0) {
        log_error("%s", err.message);
        return err.code == ERR_INVALID_ARGUMENTS ? EXIT_USAGE : EXIT_TOOL_ERROR;
    }
    if (out.failed) {
        log_error("there is no room for all of it, so nothing is shown");
        return EXIT_TOOL_ERROR;
    }
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}
