/* The state that outlives a gate, in one SQLite file: `<state>/state.db`, readable by its owner alone.
 *
 * Every gate of a user opens the same file. Who changes something takes the write lock first
 * (db_begin), so that what was read is still so when the change is written. A file that is damaged, or that a
 * newer version wrote, is refused and left as it is. */
#ifndef SANDGATE_STORE_DB_H
#define SANDGATE_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/err.h"

struct db;

/* Opens, makes where it is missing, and brings the tables up to date. `durable`: a change survives a power
 * loss once it is committed; else it survives the death of any process. For one thread. */
int db_open(struct db **ret_db, int state_fd, bool durable, struct err *err);
/* Accepts NULL. */
void db_close(struct db *db);

/* Takes the write lock. 0; 1 when another process has it and did not let go within `wait_ms`; -1 with err.
 * Everything up to db_commit happens at once or not at all. */
int db_begin(struct db *db, int wait_ms, struct err *err);
int db_commit(struct db *db, struct err *err);
/* Nothing of it happened. No effect outside of a transaction. */
void db_rollback(struct db *db);

/* A statement with this text, made once, ready to be bound. Never fails: a wrong text aborts. */
sqlite3_stmt *db_statement(struct db *db, const char *sql);
/* SQLITE_ROW, SQLITE_DONE, or another code, for which db_error says what to do. The statement is reset by the
 * next db_statement with its text, and by db_commit and db_rollback. */
int db_step(sqlite3_stmt *statement);
/* Sets err from the last failure and returns -1. */
int db_error(struct db *db, struct err *err);

/* Differs from the last answer once another process has committed something. */
unsigned db_version(struct db *db);

#define DB_AT_END CLEANUP(db_closep)
static inline void db_closep(struct db **db)
{
    db_close(*db);
}

#endif
