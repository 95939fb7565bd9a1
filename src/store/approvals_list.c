#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/approvals_parts.h"
#include "store/owner.h"

/* The gate itself says when a call waited for too long; from then on others say it. */
#define GRACE_MS 10000

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
            approvals_set_state(db, page->rows[i].id, page->rows[i].state, NULL, NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* The lock is taken only when there is something to write: a dead gate stays dead. */
int approvals_put_right(struct db *db, bool all, struct err *err)
{
    struct page page = {.last = INT64_MIN};
    do {
        if (read_page(db, &page, err) < 0)
            return -1;
        if (page.wrong && (approvals_begin(db, err) < 0 ||
                           approvals_finish(db, correct(db, &page, err), err) < 0))
            return -1;
    } while (all && page.n == ROWS_MAX);
    return 0;
}

struct list {
    int64_t *seq;
    size_t n;
};

static void approvals_list_done(struct list *list)
{
    free(list->seq);
}

static int read_approvals_list(struct db *db, bool waiting, struct list *list, struct err *err)
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
    CLEANUP(approvals_list_done) struct list list = {0};
    if (approvals_put_right(db, true, err) < 0 || read_approvals_list(db, waiting, &list, err) < 0)
        return -1;
    int go_on = 0;
    for (size_t i = 0; i < list.n && go_on == 0; i++) {
        CLEANUP(approval_done) struct approval a = {0};
        sqlite3_stmt *s = db_statement(db, "SELECT " APPROVAL_COLUMNS_LIGHT
                                           " FROM approval WHERE seq = ?");
        sqlite3_bind_int64(s, 1, list.seq[i]);
        int r = approvals_read_row(db, s, &a, err);
        if (r < 0)
            return -1;
        if (r > 0 && (!waiting || a.state == APPROVAL_WAITING))
            go_on = visit(arg, &a) < 0 ? -1 : 0;
    }
    return 0;
}
