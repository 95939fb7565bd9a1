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

/* In place of a slot: the tables were made while the log had files already. */
#define DB_MADE_LATE "state.db"

/* Opens, makes where it is missing, and brings the tables up to date. `durable`: a change survives a power
 * loss once it is committed; else it survives the death of any process. For one thread. */
int db_open(struct db **ret_db, int state_fd, bool durable, struct err *err);
/* Moving the log's pages into the file waits for the disk: another handle, whose thread may wait, does that. */
void db_leave_checkpoints(struct db *db);
/* Now, as far as nobody reads them. */
void db_checkpoint(struct db *db);
/* Text was removed that must not stay in the file: it is overwritten there before the database is closed. */
void db_has_removed(struct db *db);
/* Accepts NULL. */
void db_close(struct db *db);

/* For who has no better number. */
#define DB_WAIT_MS 2000
/* Takes the write lock. 0; 1 with err when another process has it and did not let go within `wait_ms`; -1 with err.
 * Everything up to db_commit happens at once or not at all. */
int db_begin(struct db *db, int wait_ms, struct err *err);
/* -1: nothing of it happened, and the transaction is over. */
int db_commit(struct db *db, struct err *err);
/* Nothing of it happened. No effect outside of a transaction. */
void db_rollback(struct db *db);
/* -1 where there is no transaction: SQLite ends it by itself when, for example, the disk is full. */
int db_need_transaction(struct db *db, struct err *err);

/* A statement with this text, made once, ready to be bound. NULL when the file is damaged: the functions that bind and
 * db_step take that too, and db_error tells. At most 64 texts. */
sqlite3_stmt *db_statement(struct db *db, const char *sql);
/* SQLITE_ROW, SQLITE_DONE, or another code, for which db_error says what to do. The statement is reset by the
 * next db_statement with its text, and by db_begin, db_commit and db_rollback. Outside of a transaction reset it as
 * soon as its rows are read. */
int db_step(sqlite3_stmt *statement);
/* Sets err from the last failure and returns -1. */
int db_error(struct db *db, struct err *err);
/* The same for values that nobody can have written. */
int db_damaged(struct err *err);

/* Differs from the last answer once another process has committed something. */
unsigned db_version(struct db *db);

/* `text` is borrowed until the statement is reset. */
static inline void db_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

#define DB_AT_END CLEANUP(db_closep)
static inline void db_closep(struct db **db)
{
    db_close(*db);
}

#endif
