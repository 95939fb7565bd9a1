#include "store/approvals.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/owner.h"

const char *const approval_state_names[] = {"waiting",   "approved",  "used", "denied",
                                            "timed_out", "cancelled", "gone", NULL};
const char *const approval_scope_names[] = {"once", "session", "always", NULL};

/* The gate itself says when a call waited for too long; from then on others say it. */
#define GRACE_MS 10000
#define KEEP_OVER 1000
#define KEEP_DETAILS 50 /* they can be long */
/* At most so many rows are put right or removed in one transaction. */
#define ROWS_MAX 64

/* The order of the columns in `text_fields`, behind the numbers. */
#define COLUMNS                                                                                     \
    "id, state, scope, asked_ms, expires_ms, decided_ms, decided_by, gate, call, caller_id, tool, " \
    "dialect, agent, session, workspace, digest, rule, proposal, summary, detail"
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

static int begin(struct db *db, struct err *err)
{
    return db_begin(db, DB_WAIT_MS, err) == 0 ? 0 : -1;
}

/* Commits when all went well so far. */
static int finish(struct db *db, int r, struct err *err)
{
    if (r >= 0)
        return db_commit(db, err) < 0 ? -1 : r;
    db_rollback(db);
    return -1;
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

/* How many rows it changed. */
static int change(struct db *db, sqlite3_stmt *s, struct err *err)
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
static int read_row(struct db *db, sqlite3_stmt *s, struct approval *ret, struct err *err)
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

static int find(struct db *db, const char *id, struct approval *ret, struct err *err)
{
    sqlite3_stmt *s = db_statement(db, "SELECT " COLUMNS " FROM approval WHERE id = ?");
    bind_text(s, 1, id);
    return read_row(db, s, ret, err);
}

/* What somebody typed may be anything. */
static int not_found(const char *id, struct err *err)
{
    bool plain = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
                     strlen(id) &&
                 strlen(id) < APPROVAL_ID_MAX;
    err_set(err, ERR_NOT_FOUND,
            "no call waits under %s%s; `sandgate approvals` lists those that do",
            plain ? "the id " : "such an id", plain ? id : "");
    return err_reason(err, "no_such_approval");
}

int approvals_get(struct db *db, const char *id, struct approval *ret, struct err *err)
{
    int r = find(db, id, ret, err);
    return r == 0 ? not_found(id, err) : r < 0 ? -1 : 0;
}

/* --- asking */

/* 32 letters and digits of which no two look alike. */
static int make_id(char id[APPROVAL_ID_MAX], struct err *err)
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

static int remove_old(struct db *db, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db, "UPDATE approval SET detail = '' WHERE detail <> '' AND seq IN (SELECT seq FROM "
            "approval WHERE state <> 'waiting' ORDER BY decided_ms DESC LIMIT -1 OFFSET ?)");
    sqlite3_bind_int(s, 1, KEEP_DETAILS);
    if (change(db, s, err) < 0)
        return -1;
    s = db_statement(
        db, "DELETE FROM approval WHERE seq IN (SELECT seq FROM approval WHERE state <> 'waiting' "
            "ORDER BY decided_ms DESC LIMIT ? OFFSET ?)");
    sqlite3_bind_int(s, 1, ROWS_MAX);
    sqlite3_bind_int(s, 2, KEEP_OVER);
    return change(db, s, err);
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
    bind_text(s, 1, a->id);
    sqlite3_bind_int64(s, 2, a->asked_ms);
    sqlite3_bind_int64(s, 3, a->expires_ms);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bind_text(s, 4 + (int)i, texts[i]);
    return change(db, s, err);
}

static int ask(struct db *db, struct approval *approval, const char *owner, struct err *err)
{
    if (remove_old(db, err) < 0)
        return -1;
    for (;;) {
        int r = make_id(approval->id, err) < 0 ? -1 : insert(db, approval, owner, err);
        if (r != 0)
            return r;
    }
}

static int put_right(struct db *db, bool all, struct err *err);

int approvals_ask(struct db *db, struct approval *approval, struct err *err)
{
    char owner[OWNER_MAX];
    if (owner_self(owner) < 0)
        return err_set(err, ERR_INTERNAL,
                       "/proc does not tell about this process, so nobody can be "
                       "asked: a yes could not find its call");
    /* Where nobody ever looks at the list, those of dead gates would gather. */
    if (put_right(db, false, err) < 0 || begin(db, err) < 0 ||
        finish(db, ask(db, approval, owner, err), err) < 0)
        return -1;
    approval->state = APPROVAL_WAITING;
    return 0;
}

/* --- the end of waiting */

static int set_state(struct db *db, const char *id, enum approval_state state, const char *scope,
                     const char *by, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db, "UPDATE approval SET state = ?, scope = ?, decided_ms = ?, decided_by = ? WHERE id = ? "
            "AND state = 'waiting'");
    bind_text(s, 1, approval_state_names[state]);
    bind_text(s, 2, scope);
    sqlite3_bind_int64(s, 3, clock_unix_ms());
    bind_text(s, 4, by);
    bind_text(s, 5, id);
    return change(db, s, err);
}

static int tell(const struct approval *a, const char *reason, struct err *err)
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
    bind_text(s, 1, id);
    if (db_step(s) != SQLITE_ROW)
        return db_error(db, err);
    const char *owner = (const char *)sqlite3_column_text(s, 0);
    *ret = owner_lives(self, owner ? owner : "");
    sqlite3_reset(s);
    return 0;
}

static int decide(struct db *db, struct approval *a, const struct approval_decision *decision,
                  struct err *err)
{
    bool lives = false;
    if (a->state != APPROVAL_WAITING)
        return tell(a, "approval_over", err);
    if (a->expires_ms <= clock_unix_ms())
        return tell(a, "approval_timed_out", err);
    if (gate_lives(db, a->id, &lives, err) < 0)
        return -1;
    if (!lives) {
        a->state = APPROVAL_GONE;
        a->decided_ms = clock_unix_ms();
        return tell(a, "approval_gone", err);
    }
    int r = set_state(db, a->id, decision->yes ? APPROVAL_APPROVED : APPROVAL_DENIED,
                      decision->yes ? approval_scope_names[decision->scope] : NULL, decision->by,
                      err);
    return r == 0 ? db_damaged(err) : r;
}

int approvals_decide(struct db *db, const char *id, const struct approval_decision *decision,
                     struct err *err)
{
    CLEANUP(approval_done) struct approval a = {0};
    if (begin(db, err) < 0)
        return -1;
    int r = find(db, id, &a, err);
    r = r < 0 ? -1 : r == 0 ? not_found(id, err) : decide(db, &a, decision, err);
    return finish(db, r, err) < 0 ? -1 : 0;
}

int approvals_end(struct db *db, const char *id, enum approval_state state, struct err *err)
{
    if (begin(db, err) < 0)
        return -1;
    return finish(db, set_state(db, id, state, NULL, NULL, err), err);
}

int approvals_use(struct db *db, const char *id, const char *digest, struct err *err)
{
    CLEANUP(approval_done) struct approval a = {0};
    if (db_need_transaction(db, err) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(
        db,
        "UPDATE approval SET state = 'used' WHERE id = ? AND state = 'approved' AND digest = ?");
    bind_text(s, 1, id);
    bind_text(s, 2, digest);
    int r = change(db, s, err);
    if (r != 0)
        return r < 0 ? -1 : 0;
    r = find(db, id, &a, err);
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

/* --- all of them */

/* A page of calls that wait, and which of them do in vain. */
struct page {
    struct {
        char id[APPROVAL_ID_MAX];
        enum approval_state state; /* what it is to become; WAITING: it is in order */
    } rows[ROWS_MAX];
    size_t n;
    size_t wrong;
    int64_t last; /* the last one's seq */
};

static enum approval_state state_now(const char *self, const char *owner, int64_t expires_ms,
                                     int64_t now_ms)
{
    if (!owner_lives(self, owner))
        return APPROVAL_GONE;
    return now_ms - GRACE_MS >= expires_ms ? APPROVAL_TIMED_OUT : APPROVAL_WAITING;
}

static int read_page(struct db *db, struct page *page, struct err *err)
{
    char self[OWNER_MAX] = "";
    (void)owner_self(self);
    int64_t now_ms = clock_unix_ms();
    sqlite3_stmt *s = db_statement(db, "SELECT seq, id, owner, expires_ms FROM approval INDEXED BY "
                                       "approval_waiting WHERE state = 'waiting' AND seq > ? ORDER "
                                       "BY seq LIMIT ?");
    sqlite3_bind_int64(s, 1, page->last);
    sqlite3_bind_int(s, 2, ROWS_MAX);
    page->n = page->wrong = 0;
    int r;
    while ((r = db_step(s)) == SQLITE_ROW && page->n < ROWS_MAX) {
        const char *id = (const char *)sqlite3_column_text(s, 1);
        const char *owner = (const char *)sqlite3_column_text(s, 2);
        page->last = sqlite3_column_int64(s, 0);
        snprintf(page->rows[page->n].id, APPROVAL_ID_MAX, "%s", id ? id : "");
        page->rows[page->n].state = state_now(self, owner ? owner : "", sqlite3_column_int64(s, 3),
                                              now_ms);
        page->wrong += page->rows[page->n++].state != APPROVAL_WAITING;
    }
    if (r != SQLITE_DONE && r != SQLITE_ROW)
        db_error(db, err);
    sqlite3_reset(s);
    return r != SQLITE_DONE && r != SQLITE_ROW ? -1 : 0;
}

static int correct(struct db *db, const struct page *page, struct err *err)
{
    for (size_t i = 0; i < page->n; i++) {
        if (page->rows[i].state != APPROVAL_WAITING &&
            set_state(db, page->rows[i].id, page->rows[i].state, NULL, NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* The lock is taken only when there is something to write: a dead gate stays dead. */
static int put_right(struct db *db, bool all, struct err *err)
{
    struct page page = {.last = INT64_MIN};
    do {
        if (read_page(db, &page, err) < 0)
            return -1;
        if (page.wrong && (begin(db, err) < 0 || finish(db, correct(db, &page, err), err) < 0))
            return -1;
    } while (all && page.n == ROWS_MAX);
    return 0;
}

struct list {
    int64_t *seq;
    size_t n;
};

static void list_done(struct list *list)
{
    free(list->seq);
}

static int read_list(struct db *db, bool waiting, struct list *list, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db, waiting ? "SELECT seq FROM approval WHERE state = 'waiting' ORDER BY seq"
                    : "SELECT seq FROM approval ORDER BY seq");
    int r;
    while ((r = db_step(s)) == SQLITE_ROW) {
        list->seq = mem_grow(list->seq, list->n + 1, sizeof *list->seq);
        list->seq[list->n++] = sqlite3_column_int64(s, 0);
    }
    if (r != SQLITE_DONE)
        db_error(db, err);
    sqlite3_reset(s);
    return r == SQLITE_DONE ? 0 : -1;
}

/* Each is read when its turn comes, and nothing is open while it is visited: that may take as long as a person does. */
int approvals_each(struct db *db, bool waiting,
                   int (*visit)(void *arg, const struct approval *approval), void *arg,
                   struct err *err)
{
    CLEANUP(list_done) struct list list = {0};
    if (put_right(db, true, err) < 0 || read_list(db, waiting, &list, err) < 0)
        return -1;
    int go_on = 0;
    for (size_t i = 0; i < list.n && go_on == 0; i++) {
        CLEANUP(approval_done) struct approval a = {0};
        sqlite3_stmt *s = db_statement(db, "SELECT " COLUMNS " FROM approval WHERE seq = ?");
        sqlite3_bind_int64(s, 1, list.seq[i]);
        int r = read_row(db, s, &a, err);
        if (r < 0)
            return -1;
        if (r > 0 && (!waiting || a.state == APPROVAL_WAITING))
            go_on = visit(arg, &a) < 0 ? -1 : 0;
    }
    return 0;
}
