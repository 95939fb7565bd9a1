#include "front/session_commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/shown.h"
#include "front/confirm.h"
#include "front/front.h"
#include "session/layer.h"
#include "session/review.h"
#include "store/audit.h"

#define CHANGES_MAX 1000000
#define COMMIT_SHOWN_MAX 16384
#define QUESTION_MAX ((size_t)1 << 20)

struct committing_gate {
    struct gate gate;
    const struct named *named;
    bool open;
    bool done;
    bool failed;
    struct err err;
    struct change_list changes;
    struct commit_result *result;
};

/* --- one question at a time */

static bool take_commit_reply(struct committing_gate *c, const struct call *reply,
                              const struct err *err)
{
    c->done = true;
    c->failed = !reply;
    if (!reply)
        c->err = *err;
    uv_stop(&c->gate.loop);
    return reply;
}

static void on_changes(void *arg, const struct call *reply, const struct err *err)
{
    struct committing_gate *c = arg;
    if (!take_commit_reply(c, reply, err) ||
        change_list_take(buf_str(&reply->reply_body), &c->changes))
        return;
    c->failed = true;
    err_set(&c->err, ERR_INTERNAL, "the list of changes is not well formed");
}

static void on_committed(void *arg, const struct call *reply, const struct err *err)
{
    struct committing_gate *c = arg;
    struct commit_result *result = c->result;
    if (!take_commit_reply(c, reply, err) || !result)
        return;
    result->taken = reply->reply.layer_commit.taken;
    result->left = reply->reply.layer_commit.left;
    result->empty = reply->reply.layer_commit.empty;
    buf_add(&result->left_paths, reply->reply_body.data, reply->reply_body.len);
}

static int wait_for_commit(struct committing_gate *c, struct err *err)
{
    while (!c->done)
        uv_run(&c->gate.loop, UV_RUN_DEFAULT);
    c->done = false;
    if (c->failed)
        *err = c->err;
    return c->failed ? -1 : 0;
}

/* --- */

static int open_commit_gate(struct committing_gate *c, const struct options *o, struct err *err)
{
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (named_check_workspace(c->named, err) < 0 ||
        front_gate_options(o, &go, &state_path, err) < 0)
        return -1;
    front_use_session(&go, c->named);
    go.review = true;
    go.commits = true;
    go.commands = false;
    c->open = true;
    return gate_open(&c->gate, &go, err);
}

static bool has_upper(const struct named *named)
{
    FREE_AT_END char *upper = mem_format("%s/upper", named->layer);
    return access(upper, F_OK) == 0 || errno != ENOENT;
}

static int lock_to_commit(struct named *named, struct err *err)
{
    int r = named->lock_fd >= 0 ? 1 : named_lock(named, true, err);
    if (r != 0)
        return r < 0 ? -1 : 0;
    err_set(err, ERR_SESSION_BUSY, "session %s is in use by another process; end that, then commit",
            named->id);
    return err_reason(err, LAYER_IN_USE);
}

static int recover_and_list(struct committing_gate *c, struct err *err)
{
    struct session *session = c->gate.session;
    if (layer_has_journal(c->named->layer)) {
        review_recover(session, on_committed, c);
        if (wait_for_commit(c, err) < 0)
            return -1;
    }
    review_list(session, CHANGES_MAX, layer_since(c->named->layer), on_changes, c);
    return wait_for_commit(c, err);
}

int committing_open(struct named *named, const struct options *o, struct committing_gate **ret,
                    struct err *err)
{
    if (!named->overlay)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "session %s is in host mode: its changes are in the project already",
                       named->id);
    if (lock_to_commit(named, err) < 0)
        return -1;
    struct committing_gate *c = mem_zero(sizeof *c);
    c->named = named;
    int r = 0;
    if (has_upper(named)) {
        r = open_commit_gate(c, o, err);
        if (r == 0)
            r = recover_and_list(c, err);
    }
    if (r < 0)
        committing_close(c);
    else
        *ret = c;
    return r;
}

void committing_close(struct committing_gate *c)
{
    if (!c)
        return;
    if (c->open)
        gate_close(&c->gate);
    change_list_done(&c->changes);
    free(c);
}

const struct change_list *committing_changes(const struct committing_gate *c)
{
    return &c->changes;
}

/* --- records */

static void write_commit_fields(const struct committing_gate *c, const struct commit_plan *plan,
                                struct json_out *j)
{
    size_t code = 0;
    for (size_t i = 0; i < plan->n; i++)
        code += plan->items[i].taken && commit_runs_code(plan->items[i].change);
    jo_ktext(j, "session", c->named->id);
    jo_kint(j, "changes", (int64_t)plan->taken);
    jo_kint(j, "runsCode", (int64_t)code);
    jo_kint(j, "givenUp", (int64_t)plan->dropped);
}

/* Paths and hashes stay out of it: what was taken over is the list that `session diff` told. Nothing is taken over without a
 * record of it. */
static int record_begin(struct committing_gate *c, const struct commit_plan *plan, struct err *err)
{
    if (!c->gate.audit)
        return 0;
    write_commit_fields(c, plan, audit_begin(c->gate.audit, "session.commit", NULL));
    audit_end(c->gate.audit);
    return audit_flush(c->gate.audit, err);
}

static void record_commit_end(struct committing_gate *c, const struct commit_result *result,
                              const struct err *err)
{
    if (!c->gate.audit)
        return;
    struct json_out *j = audit_begin(c->gate.audit, "session.committed", NULL);
    jo_ktext(j, "session", c->named->id);
    jo_kbool(j, "ok", err == NULL);
    if (err)
        jo_ktext(j, "code", err_row(err->code)->name);
    jo_kint(j, "taken", result->taken);
    jo_kint(j, "left", result->left);
    audit_end(c->gate.audit);
    audit_write_out(c->gate.audit);
}

int committing_do(struct committing_gate *c, const struct commit_plan *plan,
                  struct commit_result *ret, struct err *err)
{
    *ret = (struct commit_result){.left_paths = BUF_INIT(OP_BODY_MAX), .empty = c->changes.n == 0};
    if (!c->open || plan->taken + plan->dropped == 0)
        return 0;
    if (record_begin(c, plan, err) < 0)
        return -1;
    c->result = ret;
    review_commit(c->gate.session, plan, on_committed, c);
    int r = wait_for_commit(c, err);
    c->result = NULL;
    record_commit_end(c, ret, r < 0 ? err : NULL);
    if (r == 0 && ret->empty)
        layer_rest();
    return r;
}

void commit_result_done(struct commit_result *result)
{
    buf_done(&result->left_paths);
}

static void committing_closep(struct committing_gate **c)
{
    committing_close(*c);
}

int session_recover(const struct named *named, const struct options *o, struct err *err)
{
    if (!named->overlay || !layer_has_journal(named->layer))
        return 0;
    CLEANUP(committing_closep) struct committing_gate *c = mem_zero(sizeof *c);
    c->named = named;
    if (open_commit_gate(c, o, err) < 0)
        return -1;
    review_recover(c->gate.session, on_committed, c);
    return wait_for_commit(c, err);
}

/* --- what is said of it */

static const char *const bar_texts[] = {
    [COMMIT_FREE] = "lies in, or around, what stays",
    [COMMIT_SPECIAL] = "never taken over: a device, unreadable, or of another owner",
    [COMMIT_SECRET] = "secret: never taken over",
    [COMMIT_GIT] = "in a git directory: not taken over",
    [COMMIT_CONFLICT] = "changed in the project as well",
    [COMMIT_CODE] = "would run code on this machine later",
};

static void write_paths_with(const struct commit_plan *plan, enum commit_bar bar, struct buf *out)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct commit_item *item = &plan->items[i];
        if (!item->chosen || item->taken || item->drop || item->bar != bar)
            continue;
        buf_add_text(out, "  ");
        shown_line(item->change->of.path, COMMIT_SHOWN_MAX, out);
        buf_addf(out, "  (%s)\n", bar_texts[bar]);
    }
}

static void write_stays(const struct commit_plan *plan, const struct commit_result *result,
                        struct buf *out)
{
    static const enum commit_bar bars[] = {COMMIT_CONFLICT, COMMIT_CODE,    COMMIT_SECRET,
                                           COMMIT_GIT,      COMMIT_SPECIAL, COMMIT_FREE};
    for (size_t i = 0; i < ARRAY_LEN(bars); i++)
        write_paths_with(plan, bars[i], out);
    struct str rest = buf_str(&result->left_paths);
    struct op_layer left;
    while (op_layer_next(&rest, &left) > 0) {
        buf_add_text(out, "  ");
        shown_line(left.path, COMMIT_SHOWN_MAX, out);
        buf_add_text(out, "  (changed in the project at this moment)\n");
    }
}

static bool is_left_path(const struct commit_result *result, struct str path)
{
    struct str rest = buf_str(&result->left_paths);
    struct op_layer left;
    while (op_layer_next(&rest, &left) > 0) {
        if (str_compare(left.path, path) == 0)
            return true;
    }
    return false;
}

static void write_item_json(const struct commit_item *item, const char *why, struct json_out *j)
{
    jo_open(j, '{');
    if (why)
        jo_ktext(j, "why", why);
    jo_key(j, "change");
    change_write_json(item->change, j);
    jo_close(j, '}');
}

static void write_items_json(const struct commit_plan *plan, const struct commit_result *result,
                             bool done, bool taken, struct json_out *j)
{
    jo_open(j, '[');
    for (size_t i = 0; i < plan->n; i++) {
        const struct commit_item *item = &plan->items[i];
        bool left = done && is_left_path(result, item->change->of.path);
        bool took = item->taken && done && !left;
        if (!item->chosen || item->drop || took != taken)
            continue;
        write_item_json(item,
                        taken         ? NULL
                        : item->taken ? (left ? "changed_meanwhile" : "not_done")
                                      : commit_bar_names[item->bar],
                        j);
    }
    jo_close(j, ']');
}

static void write_commit_json(const struct commit_plan *plan, const struct commit_result *result,
                              bool done, struct buf *out)
{
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    jo_kbool(&j, "committed", done);
    jo_key(&j, "taken");
    write_items_json(plan, result, done, true, &j);
    jo_key(&j, "left");
    write_items_json(plan, result, done, false, &j);
    jo_kint(&j, "given_up", done ? (int64_t)plan->dropped : 0);
    jo_kbool(&j, "empty", result->empty);
    jo_close(&j, '}');
    buf_add_char(out, '\n');
}

static void write_commit(const struct commit_plan *plan, const struct commit_result *result,
                         const struct options *o, bool done, struct buf *out)
{
    size_t stays = plan->conflicts + plan->code + plan->left + (size_t)result->left;
    if (o->json) {
        write_commit_json(plan, result, done, out);
        return;
    }
    size_t taken = done ? plan->taken - (size_t)result->left : 0;
    if (done)
        buf_addf(out, "%zu %s taken over\n", taken, taken == 1 ? "change" : "changes");
    if (done && plan->dropped)
        buf_addf(out, "%zu given up for the project's\n", plan->dropped);
    if (stays)
        buf_addf(out, "%zu %s in the session:\n", stays, stays == 1 ? "stays" : "stay");
    if (stays)
        write_stays(plan, result, out);
}

/* --- whoever sits at a terminal is asked */

static int ask_with(struct buf *text, const char *cancelled, struct err *err)
{
    const char *question = buf_text(text);
    if (!question)
        return err_set(err, ERR_TOO_LARGE, "the list is too long: name paths");
    int answer = confirm(question);
    return answer < 0 ? err_set(err, ERR_CANCELLED, "%s: there is no terminal", cancelled) : answer;
}

static int ask_about_code(const struct commit_plan *plan, struct commit_choice *choice,
                          struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(QUESTION_MAX);
    buf_addf(&text, "%zu of the changes would run code on this machine later:\n", plan->code);
    write_paths_with(plan, COMMIT_CODE, &text);
    buf_add_text(&text, "Take them over, too? They stay in the session otherwise. [y/n] ");
    int answer = ask_with(&text, "nothing was taken over", err);
    if (answer >= 0)
        choice->code = answer ? CODE_TAKE : CODE_LEAVE;
    return answer < 0 ? -1 : 0;
}

static int ask_about_all(const struct committing_gate *c, const struct commit_plan *plan,
                         struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(QUESTION_MAX);
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->items[i].taken && !plan->items[i].change->gone)
            change_write_line(plan->items[i].change, &text);
    }
    buf_addf(&text, "Take %zu changes over into ", plan->taken);
    shown_line(str_of(c->named->workspace), COMMIT_SHOWN_MAX, &text);
    buf_add_text(&text, "? [y/n] ");
    int answer = ask_with(&text, "nothing was taken over", err);
    if (answer == 0)
        return err_set(err, ERR_CANCELLED, "nothing was taken over; the session stays as it is");
    return answer < 0 ? -1 : 0;
}

static int make_asked_plan(const struct committing_gate *c, const struct options *o,
                           struct commit_choice *choice, struct commit_plan *plan, struct err *err)
{
    bool terminal = isatty(STDIN_FILENO) && !o->yes;
    if (commit_plan_make(committing_changes(c), choice, plan, err) < 0)
        return -1;
    if (terminal && plan->code && !plan->conflicts && choice->code == CODE_REFUSE) {
        if (ask_about_code(plan, choice, err) < 0)
            return -1;
        commit_plan_done(plan);
        if (commit_plan_make(committing_changes(c), choice, plan, err) < 0)
            return -1;
    }
    if (commit_plan_check(plan, err) < 0)
        return -1;
    return terminal && plan->taken ? ask_about_all(c, plan, err) : 0;
}

static struct commit_choice choice_of(const struct options *o, struct str words[WORDS_MAX],
                                      struct str decided[2])
{
    struct commit_choice choice = {.paths = words,
                                   .ours = &decided[0],
                                   .theirs = &decided[1],
                                   .code = o->allow_code   ? CODE_TAKE
                                           : o->leave_code ? CODE_LEAVE
                                                           : CODE_REFUSE};
    for (size_t i = 2; i < o->n_words; i++)
        words[choice.n_paths++] = str_of(o->words[i]);
    decided[0] = str_of(o->ours);
    decided[1] = str_of(o->theirs);
    choice.n_ours = o->ours != NULL;
    choice.n_theirs = o->theirs != NULL;
    return choice;
}

int session_commit(struct named *named, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(committing_closep) struct committing_gate *c = NULL;
    CLEANUP(commit_plan_done) struct commit_plan plan = {.n = 0};
    CLEANUP(commit_result_done) struct commit_result result = {.taken = 0};
    struct str words[WORDS_MAX];
    struct str decided[2];
    struct commit_choice choice = choice_of(o, words, decided);
    if (o->allow_code && o->leave_code)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "--allow-code and --leave-code exclude each other");
    if (committing_open(named, o, &c, err) < 0)
        return -1;
    int r = make_asked_plan(c, o, &choice, &plan, err);
    if (r == 0)
        r = committing_do(c, &plan, &result, err);
    write_commit(&plan, &result, o, r == 0, out);
    return r;
}
