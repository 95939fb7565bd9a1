#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define NAME "state.db"
#define APPLICATION_ID 0x53474154 /* SGAT */
/* How long opening waits for another gate that makes or converts the tables. */
#define OPEN_WAIT_MS 5000
#define STATEMENTS_MAX 64

struct db {
    sqlite3 *handle;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } all[STATEMENTS_MAX];
    size_t n;
    bool open; /* a transaction is */
};

/* Step i leads from version i to version i + 1. A step that was released is never changed. */
static const char *const steps[] = {
    /* Calls let through, for limits over a sliding window: `n` counts up, at most as many rows as the limit
     * are kept. */
    "CREATE TABLE rate_key (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, n INTEGER NOT NULL) STRICT;"
    "CREATE TABLE rate_call (key INTEGER NOT NULL, n INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " PRIMARY KEY (key, n)) STRICT, WITHOUT ROWID;"
    /* What was spent in the period that began at `since_ms`. */
    "CREATE TABLE budget (key TEXT PRIMARY KEY, since_ms INTEGER NOT NULL, spent INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    /* The latest time that was counted with. */
    "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), seen_ms INTEGER NOT NULL) STRICT;"
    "INSERT INTO clock VALUES (1, 0);"
    /* Calls that wait, or waited, for a yes. */
    "CREATE TABLE approval (id TEXT PRIMARY KEY, gate TEXT NOT NULL, owner TEXT NOT NULL,"
    " call TEXT NOT NULL, caller_id TEXT, tool TEXT NOT NULL, dialect TEXT NOT NULL, agent TEXT,"
    " session TEXT, workspace TEXT, digest TEXT NOT NULL, rule TEXT NOT NULL, summary TEXT NOT NULL,"
    " detail TEXT NOT NULL, proposal TEXT, asked_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " state TEXT NOT NULL, scope TEXT, decided_ms INTEGER, decided_by TEXT) STRICT;"
    "CREATE INDEX approval_waiting ON approval (asked_ms) WHERE state = 'waiting';"
    /* What was allowed for the rest of a session. */
    "CREATE TABLE allowance (id INTEGER PRIMARY KEY, session TEXT NOT NULL, agent TEXT, dialect TEXT NOT"
    " NULL, rule TEXT NOT NULL, made_ms INTEGER NOT NULL, made_by TEXT NOT NULL) STRICT;"
    "CREATE INDEX allowance_session ON allowance (session);"
    /* How far each gate's chain of audit records has come. */
    "CREATE TABLE audit_head (gate TEXT PRIMARY KEY, slot TEXT NOT NULL, first_hash TEXT NOT NULL,"
    " seq INTEGER NOT NULL, hash TEXT NOT NULL, stopped INTEGER NOT NULL, at_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    /* Files of the log that were removed because there were too many. */
    "CREATE TABLE audit_removed (file TEXT PRIMARY KEY, last_hash TEXT NOT NULL, at_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    /* Sums over all calls that ended. */
    "CREATE TABLE stat (name TEXT NOT NULL, labels TEXT NOT NULL, value INTEGER NOT NULL,"
    " PRIMARY KEY (name, labels)) STRICT, WITHOUT ROWID;",
};

static int refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_INTERNAL,
                   "`" NAME
                   "` in the state folder %s; it holds counters and approvals, so nothing runs "
                   "without it: restore it, or move it away to begin anew",
                   why);
}

int db_error(struct db *db, struct err *err)
{
    int code = sqlite3_errcode(db->handle);
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        err_set(
            err, ERR_INTERNAL,
            "`" NAME
            "` in the state folder is locked by another process, so nothing runs; try again, or "
            "find out who holds it with `fuser`");
        return err_reason(err, "state_locked");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        err_set(err, ERR_INTERNAL,
                "`" NAME "` in the state folder cannot be written (%s), so nothing runs: check the "
                "permissions of the folder and its files",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "state_unwritable");
    case SQLITE_FULL:
        err_set(err, ERR_DISK_FULL,
                "no room for `" NAME
                "`: calls are refused until there is space in the state folder again");
        return err_reason(err, "state_full");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        refuse(err, "is damaged");
        return err_reason(err, "state_damaged");
    default:
        err_set(err, ERR_INTERNAL, "`" NAME "` in the state folder: %s",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "state_failed");
    }
}

static int run(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(db, err);
}

sqlite3_stmt *db_statement(struct db *db, const char *sql)
{
    for (size_t i = 0; i < db->n; i++) {
        if (db->all[i].sql == sql || strcmp(db->all[i].sql, sql) == 0) {
            sqlite3_reset(db->all[i].statement);
            return db->all[i].statement;
        }
    }
    sqlite3_stmt *made = NULL;
    if (db->n == STATEMENTS_MAX ||
        sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL) !=
            SQLITE_OK)
        abort();
    db->all[db->n].sql = sql;
    db->all[db->n++].statement = made;
    return made;
}

int db_step(sqlite3_stmt *statement)
{
    return sqlite3_step(statement);
}

static int64_t number(struct db *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

unsigned db_version(struct db *db)
{
    sqlite3_stmt *s = db_statement(db, "PRAGMA data_version");
    unsigned version = db_step(s) == SQLITE_ROW ? (unsigned)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return version;
}

static void reset_all(struct db *db)
{
    for (size_t i = 0; i < db->n; i++)
        sqlite3_reset(db->all[i].statement);
}

int db_begin(struct db *db, int wait_ms, struct err *err)
{
    sqlite3_busy_timeout(db->handle, wait_ms);
    int r = db_step(db_statement(db, "BEGIN IMMEDIATE"));
    if (r == SQLITE_DONE) {
        db->open = true;
        return 0;
    }
    db_error(db, err);
    return r == SQLITE_BUSY ? 1 : -1;
}

int db_commit(struct db *db, struct err *err)
{
    reset_all(db);
    if (db_step(db_statement(db, "COMMIT")) != SQLITE_DONE) {
        db_error(db, err);
        db_rollback(db);
        return -1;
    }
    db->open = false;
    return 0;
}

void db_rollback(struct db *db)
{
    reset_all(db);
    if (db->open)
        db_step(db_statement(db, "ROLLBACK"));
    db->open = false;
}

/* --- opening */

/* Asked inside the transaction: another gate may have been quicker. */
static int bring_up_to_date(struct db *db, struct err *err)
{
    int64_t version = number(db, "PRAGMA user_version");
    for (int64_t i = version; i < (int64_t)ARRAY_LEN(steps); i++) {
        char set[64];
        snprintf(set, sizeof set, "PRAGMA user_version = %lld", (long long)i + 1);
        if (run(db, steps[i], err) < 0 || run(db, set, err) < 0)
            return -1;
    }
    return 0;
}

static int check_version(struct db *db, struct err *err)
{
    char why[96];
    int64_t version = number(db, "PRAGMA user_version");
    int64_t application = number(db, "PRAGMA application_id");
    if (version < 0 || application < 0)
        return db_error(db, err);
    bool fresh = version == 0 && number(db, "SELECT count(*) FROM sqlite_schema") == 0;
    if (!fresh && application != APPLICATION_ID)
        return refuse(err, "is not Sandgate's");
    if (version <= (int64_t)ARRAY_LEN(steps))
        return version == (int64_t)ARRAY_LEN(steps);
    snprintf(why, sizeof why,
             "was written by a newer version of Sandgate (tables %lld, known up to %zu)",
             (long long)version, ARRAY_LEN(steps));
    refuse(err, why);
    return err_reason(err, "state_newer");
}

static int prepare(struct db *db, bool durable, struct err *err)
{
    sqlite3_busy_timeout(db->handle, OPEN_WAIT_MS);
    sqlite3_extended_result_codes(db->handle, 0);
    int current = check_version(db, err);
    if (current < 0 ||
        run(db, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err) < 0)
        return -1;
    if (current)
        return 0;
    char set[64];
    snprintf(set, sizeof set, "PRAGMA application_id = %d", APPLICATION_ID);
    if (run(db, "PRAGMA journal_mode = WAL", err) < 0)
        return -1;
    int r = db_begin(db, OPEN_WAIT_MS, err);
    if (r != 0 || run(db, set, err) < 0 || bring_up_to_date(db, err) < 0) {
        db_rollback(db);
        return -1;
    }
    return db_commit(db, err);
}

static int unusable(int code, struct err *err)
{
    err_set(err, code == ENOSPC || code == EDQUOT ? ERR_DISK_FULL : ERR_INTERNAL,
            "`" NAME "` in the state folder cannot be opened (%s), so nothing runs",
            strerror(code));
    return err_reason(err, err->code == ERR_DISK_FULL ? "state_full" : "state_unwritable");
}

/* Made by us, for its owner alone, before SQLite sees it: its own files get the same mode. One that is there is
 * not opened: closing it would give up the locks that this process may have on it. */
static int check_file(int state_fd, struct err *err)
{
    struct stat st;
    FD_AT_END int made = openat(state_fd, NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0 && errno != EEXIST)
        return unusable(errno, err);
    if (fstatat(state_fd, NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return unusable(errno, err);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return refuse(err, "is not a plain file of one name");
    if (st.st_mode & 077 || st.st_uid != geteuid())
        return refuse(err, "must be yours alone (chmod 600)");
    return 0;
}

int db_open(struct db **ret_db, int state_fd, bool durable, struct err *err)
{
    if (check_file(state_fd, err) < 0)
        return -1;
    struct db *db = mem_zero(sizeof *db);
    char link[64];
    char folder[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", state_fd);
    ssize_t n = readlink(link, folder, sizeof folder - sizeof NAME - 1);
    int r = SQLITE_CANTOPEN;
    if (n > 0) {
        snprintf(folder + n, sizeof folder - (size_t)n, "/" NAME);
        r = sqlite3_open_v2(folder, &db->handle,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                            NULL);
    }
    r = r != SQLITE_OK ? (db->handle ? db_error(db, err) : refuse(err, "cannot be found"))
                       : prepare(db, durable, err);
    if (r < 0) {
        db_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    db_rollback(db);
    for (size_t i = 0; i < db->n; i++)
        sqlite3_finalize(db->all[i].statement);
    sqlite3_close(db->handle);
    free(db);
}
