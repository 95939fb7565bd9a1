#include "store/approvals.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/redact.h"
#include "core/logged_summary.h"
#include "store/approvals_parts.h"
#include "store/owner.h"

const char *const approval_state_names[] = {"waiting",   "approved",  "used", "denied",
                                            "timed_out", "cancelled", "gone", NULL};
const char *const approval_scope_names[] = {"once", "session", "always", NULL};

#define KEEP_OVER 1000

/* Columns behind the numbers, in the order of `text_fields`. */
#define FIRST_TEXT 6

static const size_t text_fields[] = {
    offsetof(struct approval, decided_by), offsetof(struct approval, gate),
    offsetof(struct approval, call),       offsetof(struct approval, caller_id),
    offsetof(struct approval, tool),       offsetof(struct approval, dialect),
    offsetof(struct approval, agent),      offsetof(struct approval, session),
    offsetof(struct approval, workspace),  offsetof(struct approval, digest),
    offsetof(struct approval, rule),       offsetof(struct approval, proposal),
    offsetof(struct approval, summary),    offsetof(struct approval, detail),
};

static const char **text_field(struct approval *approval, size_t i)
{
    return (const char **)(void *)((char *)approval + text_fields[i]);
}

int approvals_begin(struct db *db, struct err *err)
{
    return db_begin(db, DB_WAIT_MS, err) == 0 ? 0 : -1;
}

/* Commits when all went well so far. */
int approvals_finish(struct db *db, int r, struct err *err)
{
    if (r >= 0)
        return db_commit(db, err) < 0 ? -1 : r;
    db_rollback(db);
    return -1;
}

/* How many rows it changed. */
static int change_approvals(struct db *db, sqlite3_stmt *s, struct err *err)
{
    if (db_step(s) != SQLITE_DONE)
        return db_error(db, err);
    return sqlite3_changes(sqlite3_db_handle(s));
}

/* --- reading */

static int word(const char *const *names, const unsigned char *text)
{
    for (int i = 0; text && names[i]; i++) {
        if (strcmp(names[i], (const char *)text) == 0)
            return i;
    }
    return -1;
}

void approval_done(struct approval *approval)
{
    for (size_t i = 0; i < ARRAY_LEN(text_fields); i++)
        free((void *)(uintptr_t)*text_field(approval, i));
    *approval = (struct approval){0};
}

static int copy_row(sqlite3_stmt *s, struct approval *ret, struct err *err)
{
    const unsigned char *id = sqlite3_column_text(s, 0);
    int state = word(approval_state_names, sqlite3_column_text(s, 1));
    const unsigned char *scope = sqlite3_column_text(s, 2);
    int reach = scope ? word(approval_scope_names, scope) : APPROVE_ONCE;
    if (!id || state < 0 || reach < 0)
        return db_damaged(err);
    *ret = (struct approval){.state = (enum approval_state)state,
                             .scope = (enum approval_scope)reach,
                             .asked_ms = sqlite3_column_int64(s, 3),
                             .expires_ms = sqlite3_column_int64(s, 4),
                             .decided_ms = sqlite3_column_int64(s, 5)};
    snprintf(ret->id, sizeof ret->id, "%s", (const char *)id);
    for (size_t i = 0; i < ARRAY_LEN(text_fields); i++)
        *text_field(ret, i) = mem_dup((const char *)sqlite3_column_text(s, FIRST_TEXT + (int)i));
    return 0;
}

/* 1; 0: there is none; -1. */
int approvals_read_row(struct db *db, sqlite3_stmt *s, struct approval *ret, struct err *err)
{
    int step = db_step(s);
    int r = 0;
    if (step == SQLITE_ROW)
        r = copy_row(s, ret, err) < 0 ? -1 : 1;
    else if (step != SQLITE_DONE)
        r = db_error(db, err);
    sqlite3_reset(s);
    return r;
}

static int find_approval(struct db *db, const char *id, struct approval *ret, struct err *err)
{
    sqlite3_stmt *s = db_statement(db,
                                   "SELECT " APPROVAL_COLUMNS_LIGHT " FROM approval WHERE id = ?");
    db_bind_text(s, 1, id);
    return approvals_read_row(db, s, ret, err);
}

/* What somebody typed may be anything. */
static int approval_not_found(const char *id, struct err *err)
{
    bool plain = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
                     strlen(id) &&
                 strlen(id) < APPROVAL_ID_MAX;
    err_set(err, ERR_NOT_FOUND,
            "no call waits under %s%s; `sandgate approvals` lists those that do",
            plain ? "the id " : "such an id", plain ? id : "");
    return err_reason(err, "no_such_approval");
}

int approvals_look(struct db *db, const char *id, struct approval *ret, struct err *err)
{
    int r = find_approval(db, id, ret, err);
    return r == 0 ? approval_not_found(id, err) : r < 0 ? -1 : 0;
}

int approvals_get(struct db *db, const char *id, struct approval *ret, struct err *err)
{
    sqlite3_stmt *s = db_statement(db, "SELECT " APPROVAL_COLUMNS " FROM approval WHERE id = ?");
    db_bind_text(s, 1, id);
    int r = approvals_read_row(db, s, ret, err);
    return r == 0 ? approval_not_found(id, err) : r < 0 ? -1 : 0;
}

/* --- asking */

/* 32 letters and digits of which no two look alike. */
static int make_approval_id(char id[APPROVAL_ID_MAX], struct err *err)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char random[8];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set(err, ERR_INTERNAL, "no random numbers, so nobody can be asked");
    for (size_t i = 0; i < sizeof random; i++)
        id[i] = letters[random[i] % 32];
    id[sizeof random] = '\0';
    return 0;
}

static int remove_old_approvals(struct db *db, struct err *err)
{
    /* Earlier versions kept some. */
    sqlite3_stmt *s = db_statement(
        db, "UPDATE approval SET detail = '', proposal = NULL WHERE state <> 'waiting' AND detail "
            "<> ''");
    if (change_approvals(db, s, err) < 0)
        return -1;
    s = db_statement(
        db, "DELETE FROM approval WHERE seq IN (SELECT seq FROM approval WHERE state <> 'waiting' "
            "ORDER BY decided_ms DESC LIMIT ? OFFSET ?)");
    sqlite3_bind_int(s, 1, ROWS_MAX);
    sqlite3_bind_int(s, 2, KEEP_OVER);
    return change_approvals(db, s, err);
}

static int insert(struct db *db, const struct approval *a, const char *owner, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db,
        "INSERT INTO approval (id, state, scope, asked_ms, expires_ms, decided_ms, decided_by, "
        "gate, call, caller_id, tool, dialect, agent, session, workspace, digest, rule, proposal, "
        "summary, detail, owner) VALUES (?1, 'waiting', NULL, ?2, ?3, NULL, NULL, ?4, ?5, ?6, ?7, "
        "?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (id) DO NOTHING");
    const char *const texts[] = {a->gate,
                                 a->call,
                                 a->caller_id,
                                 a->tool,
                                 a->dialect,
                                 a->agent,
                                 a->session,
                                 a->workspace,
                                 a->digest,
                                 a->rule,
                                 a->proposal,
                                 a->summary,
                                 a->detail ? a->detail : "",
                                 owner};
    db_bind_text(s, 1, a->id);
    sqlite3_bind_int64(s, 2, a->asked_ms);
    sqlite3_bind_int64(s, 3, a->expires_ms);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        db_bind_text(s, 4 + (int)i, texts[i]);
    return change_approvals(db, s, err);
}

static int add_fresh_approval(struct db *db, struct approval *approval, const char *owner,
                              struct err *err)
{
    if (remove_old_approvals(db, err) < 0)
        return -1;
    for (;;) {
        int r = make_approval_id(approval->id, err) < 0 ? -1 : insert(db, approval, owner, err);
        if (r != 0)
            return r;
    }
}

int approvals_ask(struct db *db, struct approval *approval, struct err *err)
{
    char owner[OWNER_MAX];
    int r = owner_self(owner);
    if (r < 0)
        return err_set(err, err_code_for(-r, ERR_INTERNAL),
                       "/proc does not tell about this process, so nobody can be "
                       "asked: a yes could not find its call");
    /* Where nobody ever looks at the list, those of dead gates would gather. */
    if (approvals_put_right(db, false, err) < 0 || approvals_begin(db, err) < 0 ||
        approvals_finish(db, add_fresh_approval(db, approval, owner, err), err) < 0)
        return -1;
    approval->state = APPROVAL_WAITING;
    return 0;
}

/* --- the end of waiting */

/* What stays of the line after the answer: secrets in it were for the approver alone. */
static int redact_summary(struct db *db, const char *id, struct err *err)
{
    sqlite3_stmt *s = db_statement(db, "SELECT summary FROM approval WHERE id = ?");
    db_bind_text(s, 1, id);
    int step = db_step(s);
    const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    struct str summary = {text ? text : "", text ? strlen(text) : 0};
    BUF_AT_END struct buf safe = BUF_INIT(REDACT_OUT_MAX(summary.n));
    bool found = logged_summary(summary, &safe);
    sqlite3_reset(s);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return db_error(db, err);
    if (!found)
        return 0;
    s = db_statement(db, "UPDATE approval SET summary = ? WHERE id = ?");
    db_bind_text(s, 1, buf_text(&safe) ? buf_text(&safe) : REDACTED);
    db_bind_text(s, 2, id);
    return change_approvals(db, s, err) < 0 ? -1 : 0;
}

/* Only what a list of past questions needs is kept. */
int approvals_set_state(struct db *db, const char *id, enum approval_state state, const char *scope,
                        const char *by, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db,
        "UPDATE approval SET state = ?, scope = ?, decided_ms = ?, decided_by = ?, detail = '', "
        "proposal = NULL WHERE id = ? AND state = 'waiting'");
    db_bind_text(s, 1, approval_state_names[state]);
    db_bind_text(s, 2, scope);
    sqlite3_bind_int64(s, 3, clock_unix_ms());
    db_bind_text(s, 4, by);
    db_bind_text(s, 5, id);
    int n = change_approvals(db, s, err);
    if (n > 0)
        db_has_removed(db);
    return n > 0 && redact_summary(db, id, err) < 0 ? -1 : n;
}

static int tell_approval_over(const struct approval *a, const char *reason, struct err *err)
{
    static const char *const what[] = {
        [APPROVAL_WAITING] = "does not wait any more: its time was over",
        [APPROVAL_APPROVED] = "was approved already",
        [APPROVAL_USED] = "was approved already and has been let through",
        [APPROVAL_DENIED] = "was denied already",
        [APPROVAL_TIMED_OUT] = "waited too long and was denied",
        [APPROVAL_CANCELLED] = "was cancelled by its caller",
        [APPROVAL_GONE] = "cannot run any more: its gate is gone",
    };
    char when[CLOCK_TEXT_MAX];
    clock_format_utc(a->state == APPROVAL_WAITING ? a->expires_ms : a->decided_ms, when);
    err_set(err, ERR_CONFLICT,
            "the call %s %s%s%.200s (%s); `sandgate approvals` lists those that wait", a->id,
            what[a->state], a->decided_by ? " by " : "", a->decided_by ? a->decided_by : "", when);
    return err_reason(err, reason);
}

static int gate_lives(struct db *db, const char *id, bool *ret, struct err *err)
{
    char self[OWNER_MAX] = "";
    (void)owner_self(self);
    sqlite3_stmt *s = db_statement(db, "SELECT owner FROM approval WHERE id = ?");
    db_bind_text(s, 1, id);
    if (db_step(s) != SQLITE_ROW)
        return db_error(db, err);
    const char *owner = (const char *)sqlite3_column_text(s, 0);
    *ret = owner_lives(self, owner ? owner : "");
    sqlite3_reset(s);
    return 0;
}

static int apply_decision(struct db *db, struct approval *a,
                          const struct approval_decision *decision, struct err *err)
{
    bool lives = false;
    if (a->state != APPROVAL_WAITING)
        return tell_approval_over(a, "approval_over", err);
    if (a->expires_ms <= clock_unix_ms())
        return tell_approval_over(a, "approval_timed_out", err);
    if (gate_lives(db, a->id, &lives, err) < 0)
        return -1;
    if (!lives) {
        a->state = APPROVAL_GONE;
        a->decided_ms = clock_unix_ms();
        return tell_approval_over(a, "approval_gone", err);
    }
    int r = approvals_set_state(db, a->id, decision->yes ? APPROVAL_APPROVED : APPROVAL_DENIED,
                                decision->yes ? approval_scope_names[decision->scope] : NULL,
                                decision->by, err);
    if (r <= 0)
        return r == 0 ? db_damaged(err) : r;
    return decision->with && decision->with(decision->with_arg, err) < 0 ? -1 : r;
}

int approvals_decide(struct db *db, const char *id, const struct approval_decision *decision,
                     struct err *err)
{
    CLEANUP(approval_done) struct approval a = {0};
    if (approvals_begin(db, err) < 0)
        return -1;
    int r = find_approval(db, id, &a, err);
    r = r < 0 ? -1 : r == 0 ? approval_not_found(id, err) : apply_decision(db, &a, decision, err);
    return approvals_finish(db, r, err) < 0 ? -1 : 0;
}

int approvals_end(struct db *db, const char *id, enum approval_state state, struct err *err)
{
    if (approvals_begin(db, err) < 0)
        return -1;
    return approvals_finish(db, approvals_set_state(db, id, state, NULL, NULL, err), err);
}

int approvals_use(struct db *db, const char *id, const char *digest, struct err *err)
{
    CLEANUP(approval_done) struct approval a = {0};
    if (db_need_transaction(db, err) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(
        db,
        "UPDATE approval SET state = 'used' WHERE id = ? AND state = 'approved' AND digest = ?");
    db_bind_text(s, 1, id);
    db_bind_text(s, 2, digest);
    int r = change_approvals(db, s, err);
    if (r != 0)
        return r < 0 ? -1 : 0;
    r = find_approval(db, id, &a, err);
    if (r < 0)
        return -1;
    err_set(err, ERR_APPROVAL_DENIED, "the call may not run: %s",
            r == 0                         ? "nobody was asked about it"
            : a.state == APPROVAL_APPROVED ? "the yes was given for a call with other arguments"
            : a.state == APPROVAL_USED     ? "the yes was used already"
            : a.state == APPROVAL_DENIED   ? "it was denied"
            : a.state == APPROVAL_WAITING  ? "it still waits for a yes"
                                           : "it does not wait any more");
    return err_reason(err, r == 0                         ? "not_asked"
                           : a.state == APPROVAL_APPROVED ? "other_call"
                                                          : approval_state_names[a.state]);
}
