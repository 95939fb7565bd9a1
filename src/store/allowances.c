#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/approvals.h"

/* Sessions without a name end without a word. Who is forgotten is asked again. */
#define KEEP 10000

static void bind(sqlite3_stmt *s, const char *session, const char *agent, const char *dialect)
{
    sqlite3_bind_text(s, 1, session, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, agent, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, dialect, -1, SQLITE_STATIC);
}

static int run_allowance_step(struct db *db, sqlite3_stmt *s, struct err *err)
{
    int r = db_step(s) == SQLITE_DONE ? 0 : db_error(db, err);
    sqlite3_reset(s);
    return r;
}

int allowances_add(struct db *db, const char *session, const char *agent, const char *dialect,
                   const char *rule, const char *by, struct err *err)
{
    /* First: an error behind the rule would say that it is not kept. */
    sqlite3_stmt *s = db_statement(
        db, "DELETE FROM allowance WHERE id <= (SELECT max(id) FROM allowance) - ?");
    sqlite3_bind_int64(s, 1, KEEP - 1);
    if (run_allowance_step(db, s, err) < 0)
        return -1;
    s = db_statement(
        db,
        "INSERT INTO allowance (session, agent, dialect, rule, made_ms, made_by) SELECT ?1, ?2, "
        "?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM allowance WHERE session = ?1 AND agent "
        "IS ?2 AND dialect = ?3 AND rule = ?4)");
    bind(s, session, agent, dialect);
    sqlite3_bind_text(s, 4, rule, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, clock_unix_ms());
    sqlite3_bind_text(s, 6, by, -1, SQLITE_STATIC);
    return run_allowance_step(db, s, err);
}

struct rules {
    char **all;
    size_t n;
};

static void rules_done(struct rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        free(rules->all[i]);
    free(rules->all);
}

/* Copied first: a visitor may use the database, and nothing is kept open meanwhile. */
int allowances_each(struct db *db, const char *session, const char *agent, const char *dialect,
                    int (*visit)(void *arg, const char *rule), void *arg, struct err *err)
{
    CLEANUP(rules_done) struct rules rules = {0};
    sqlite3_stmt *s = db_statement(db,
                                   "SELECT rule FROM allowance WHERE session = ? AND agent IS ? "
                                   "AND dialect = ? ORDER BY id");
    bind(s, session, agent, dialect);
    int r;
    while ((r = db_step(s)) == SQLITE_ROW) {
        const char *rule = (const char *)sqlite3_column_text(s, 0);
        rules.all = mem_grow(rules.all, rules.n + 1, sizeof *rules.all);
        rules.all[rules.n++] = mem_dup(rule ? rule : "");
    }
    if (r != SQLITE_DONE)
        db_error(db, err);
    sqlite3_reset(s);
    if (r != SQLITE_DONE)
        return -1;
    for (size_t i = 0; i < rules.n && visit(arg, rules.all[i]) >= 0;)
        i++;
    return 0;
}

int allowances_forget(struct db *db, const char *session, struct err *err)
{
    sqlite3_stmt *s = db_statement(db, "DELETE FROM allowance WHERE session = ?");
    sqlite3_bind_text(s, 1, session, -1, SQLITE_STATIC);
    return run_allowance_step(db, s, err);
}
