#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_files.h"
#include "store/db_parts.h"
#include "store/db_steps.h"

#define APPLICATION_ID 0x53474154 /* SGAT */
/* How long opening waits for another gate that converts the tables. */
#define OPEN_WAIT_MS 5000
/* Changes gather in `state.db-wal` until it has this many pages: moving them into the file waits for the disk. */
#define PAGE_BYTES 1024
#define WAL_PAGES_MAX 4000
/* From here on also who left that to others does it. */
#define WAL_PAGES_AT_MOST (16 * WAL_PAGES_MAX)
/* What closing leaves there for the next one to read. Moving it each time took 0.5 ms of a call that is alone, with
 * a fast disk; reading it takes 1 us a page, and such a call adds three. */
#define WAL_PAGES_LEFT 128

static int run_db_sql(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(db, err);
}

static sqlite3_stmt *known_statement(struct db *db, const char *sql)
{
    for (size_t i = 0; i < db->n; i++) {
        if (db->all[i].sql == sql)
            return db->all[i].statement;
    }
    for (size_t i = 0; i < db->n; i++) {
        if (strcmp(db->all[i].sql, sql) == 0)
            return db->all[i].statement;
    }
    return NULL;
}

sqlite3_stmt *db_statement(struct db *db, const char *sql)
{
    sqlite3_stmt *made = known_statement(db, sql);
    if (made) {
        sqlite3_reset(made);
        return made;
    }
    if (db->n == STATEMENTS_MAX)
        abort();
    /* The tables' definitions are read here: where they are damaged there is no statement. */
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL) !=
        SQLITE_OK)
        return NULL;
    db->all[db->n].sql = sql;
    db->all[db->n++].statement = made;
    return made;
}

int db_step(sqlite3_stmt *statement)
{
    return statement ? sqlite3_step(statement) : SQLITE_ERROR;
}

static int read_db_number(struct db *db, const char *sql, int64_t *ret, struct err *err)
{
    sqlite3_stmt *s = NULL;
    bool found = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) == SQLITE_OK &&
                 sqlite3_step(s) == SQLITE_ROW;
    if (found)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return found ? 0 : db_error(db, err);
}

unsigned db_version(struct db *db)
{
    sqlite3_stmt *s = db_statement(db, "PRAGMA data_version");
    unsigned version = db_step(s) == SQLITE_ROW ? (unsigned)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return version;
}

/* --- transactions */

static void reset_all(struct db *db)
{
    for (size_t i = 0; i < db->n; i++)
        sqlite3_reset(db->all[i].statement);
}

static bool is_transaction_open(const struct db *db)
{
    return !sqlite3_get_autocommit(db->handle);
}

int db_begin(struct db *db, int wait_ms, struct err *err)
{
    /* A statement in the middle of its rows keeps an old view, from which nothing can be written. */
    reset_all(db);
    sqlite3_busy_timeout(db->handle, wait_ms);
    int r = db_step(db_statement(db, "BEGIN IMMEDIATE"));
    if (r != SQLITE_DONE)
        db_error(db, err);
    sqlite3_busy_timeout(db->handle, DB_WAIT_MS);
    return r == SQLITE_DONE ? 0 : r == SQLITE_BUSY ? 1 : -1;
}

int db_commit(struct db *db, struct err *err)
{
    reset_all(db);
    if (db_step(db_statement(db, "COMMIT")) != SQLITE_DONE) {
        db_error(db, err);
        db_rollback(db);
        return -1;
    }
    return 0;
}

void db_rollback(struct db *db)
{
    reset_all(db);
    if (is_transaction_open(db))
        db_step(db_statement(db, "ROLLBACK"));
}

int db_need_transaction(struct db *db, struct err *err)
{
    if (is_transaction_open(db))
        return 0;
    err_set(err, ERR_INTERNAL,
            "what was to be written to `" DB_NAME
            "` was undone by a failure before, so nothing runs");
    return err_reason(err, "state_failed");
}

/* --- opening */

/* Asked inside the transaction: another gate may have been quicker. */
static int bring_up_to_date(struct db *db, struct err *err)
{
    int64_t version = 0;
    if (read_db_number(db, "PRAGMA user_version", &version, err) < 0)
        return -1;
    for (int64_t i = version; i < (int64_t)db_steps_count; i++) {
        char set[64];
        snprintf(set, sizeof set, "PRAGMA user_version = %lld", (long long)i + 1);
        if (run_db_sql(db, db_steps[i], err) < 0 || run_db_sql(db, set, err) < 0)
            return -1;
    }
    return 0;
}

/* 1: the tables are as this version knows them; 0: they are older. */
static int check_version(struct db *db, struct err *err)
{
    char why[96];
    int64_t version = 0;
    int64_t application = 0;
    if (read_db_number(db, "PRAGMA application_id", &application, err) < 0 ||
        read_db_number(db, "PRAGMA user_version", &version, err) < 0)
        return -1;
    if (application != APPLICATION_ID || version < 1)
        return db_refuse(err, "state_foreign", "is not Sandgate's");
    if (version <= (int64_t)db_steps_count)
        return version == (int64_t)db_steps_count;
    snprintf(why, sizeof why,
             "was written by a newer version of Sandgate (tables %lld, known up to %zu)",
             (long long)version, db_steps_count);
    return db_refuse(err, "state_newer", why);
}

static int committed(void *arg, sqlite3 *handle, const char *name, int pages)
{
    struct db *db = arg;
    db->wal_pages = pages;
    /* Where it cannot be done now, the next commit tries again. */
    if (pages >= (db->leaves_checkpoints ? WAL_PAGES_AT_MOST : WAL_PAGES_MAX))
        sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

static int prepare_db(struct db *db, bool durable, struct err *err)
{
    sqlite3_busy_timeout(db->handle, OPEN_WAIT_MS);
    sqlite3_wal_hook(db->handle, committed, db);
    int current = check_version(db, err);
    /* The text of a call that was asked about may hold secrets, and be long. */
    if (current < 0 ||
        run_db_sql(db, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err) <
            0 ||
        run_db_sql(db, "PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 16777216", err) < 0)
        return -1;
    if (!current) {
        if (db_begin(db, OPEN_WAIT_MS, err) != 0)
            return -1;
        if (bring_up_to_date(db, err) < 0) {
            db_rollback(db);
            return -1;
        }
        return db_commit(db, err);
    }
    sqlite3_busy_timeout(db->handle, DB_WAIT_MS);
    return 0;
}

/* Who removes the tables shall not be able to cut the log unnoticed: a head that no record has stays. */
static const char made_late[] =
    "INSERT INTO audit_head (gate, slot, first_hash, seq, hash, stopped, at_ms)"
    " VALUES ('" DB_MADE_LATE "', '" DB_MADE_LATE "', '', 0, '', 0, 0)";

/* Also empty files count: a gate makes the tables before it makes a file. */
static bool has_log(int state_fd)
{
    CLEANUP(audit_names_done) struct audit_names slots = {0};
    CLEANUP(audit_names_done) struct audit_names rotated = {0};
    FD_AT_END int dir = openat(state_fd, "audit", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return false;
    return audit_names_list(dir, NULL, audit_is_slot, &slots) < 0 || slots.n > 0 ||
           audit_names_list(dir, NULL, audit_is_rotated, &rotated) < 0 || rotated.n > 0;
}

/* The bytes of a file with empty tables, for sqlite3_free. */
static unsigned char *empty_tables(bool late, size_t *ret_n, struct err *err)
{
    struct db memory = {0};
    unsigned char *bytes = NULL;
    sqlite3_int64 n = 0;
    char set[128];
    /* A call changes a few rows in as many tables, and each page it touches is written and summed up: small ones
     * took a fifth off what counting costs (bench/added.c). */
    snprintf(set, sizeof set, "PRAGMA page_size = %d; PRAGMA application_id = %d", PAGE_BYTES,
             APPLICATION_ID);
    if (sqlite3_open(":memory:", &memory.handle) == SQLITE_OK &&
        run_db_sql(&memory, set, err) == 0 && bring_up_to_date(&memory, err) == 0 &&
        (!late || run_db_sql(&memory, made_late, err) == 0))
        bytes = sqlite3_serialize(memory.handle, "main", &n, 0);
    if (!bytes)
        db_error(&memory, err);
    else
        bytes[18] = bytes[19] = 2; /* the file format's words for WAL */
    sqlite3_close(memory.handle);
    *ret_n = (size_t)n;
    return bytes;
}

static int write_db_file(int state_fd, const char *name, const unsigned char *bytes, size_t n)
{
    FD_AT_END int fd = openat(state_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, bytes, n);
    return r < 0 ? r : fdatasync(fd) < 0 ? -errno : 0;
}

/* It appears whole or not at all: an empty one was never ours, and of several gates that begin at once
 * one makes it. */
static int make_db_file(int state_fd, struct err *err)
{
    char name[sizeof DB_NAME + 24];
    uint64_t random = 0;
    size_t n;
    unsigned char *bytes = empty_tables(has_log(state_fd), &n, err);
    if (!bytes)
        return -1;
    int r = getrandom(&random, sizeof random, 0) == sizeof random ? 0 : -EIO;
    snprintf(name, sizeof name, DB_NAME ".new-%016llx", (unsigned long long)random);
    if (r == 0)
        r = write_db_file(state_fd, name, bytes, n);
    sqlite3_free(bytes);
    if (r == 0 && renameat2(state_fd, name, state_fd, DB_NAME, RENAME_NOREPLACE) < 0 &&
        errno != EEXIST)
        r = -errno;
    unlinkat(state_fd, name, 0);
    return r < 0 ? db_unusable(-r, err) : 0;
}

/* One that is there is not opened to look at it: closing it would give up the locks that this process may have. */
static int check_file(int state_fd, struct err *err)
{
    struct stat st;
    if (fstatat(state_fd, DB_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : db_unusable(errno, err);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return db_refuse(err, "state_unsafe", "is not a plain file of one name");
    if (st.st_mode & 077 || st.st_uid != geteuid())
        return db_refuse(err, "state_unsafe", "must be yours alone (chmod 600)");
    if (st.st_size == 0)
        return db_refuse(err, "state_damaged", "is empty");
    return 1;
}

static int find_file(int state_fd, struct err *err)
{
    struct stat st;
    int r = check_file(state_fd, err);
    if (r != 0)
        return r;
    /* Changes to a file that is gone would be made to the new one. Another gate may have made both by now. */
    bool changes = fstatat(state_fd, DB_NAME "-wal", &st, AT_SYMLINK_NOFOLLOW) == 0;
    r = check_file(state_fd, err);
    if (r == 0 && changes)
        return db_refuse(err, "state_damaged", "is missing, but `" DB_NAME "-wal` is there");
    if (r != 0)
        return r;
    if (make_db_file(state_fd, err) < 0)
        return -1;
    r = check_file(state_fd, err);
    return r == 0 ? db_unusable(ENOENT, err) : r;
}

/* SQLite opens the file or its log for reading alone where opening it for writing failed, for whatever reason, and
 * stays with that. Such a handle is given up, so that the next one is opened when there are descriptors again. */
static int check_db_writable(struct db *db, int state_fd, struct err *err)
{
    bool writes = sqlite3_db_readonly(db->handle, "main") == 0;
    if (writes) { /* that is of the file; of its log only a transaction tells */
        sqlite3_busy_timeout(db->handle, 0);
        writes = db_step(db_statement(db, "BEGIN IMMEDIATE")) != SQLITE_READONLY;
        sqlite3_busy_timeout(db->handle, DB_WAIT_MS);
        db_rollback(db);
    }
    if (writes)
        return 0;
    if (faccessat(state_fd, DB_NAME, W_OK, AT_EACCESS) < 0)
        return db_unusable(errno, err);
    err_set(err, ERR_SESSION_BUSY,
            "`" DB_NAME
            "` in the state folder could not be opened for writing, so nothing runs; try "
            "again");
    return err_reason(err, "no_resources");
}

int db_open(struct db **ret_db, int state_fd, bool durable, struct err *err)
{
    if (find_file(state_fd, err) < 0)
        return -1;
    struct db *db = mem_zero(sizeof *db);
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", state_fd);
    size_t room = sizeof path - sizeof "/" DB_NAME;
    ssize_t n = readlink(link, path, room);
    int r = SQLITE_CANTOPEN;
    /* A link that fills the room may have been cut: it would name some other folder. */
    if (n > 0 && (size_t)n < room) {
        snprintf(path + n, sizeof path - (size_t)n, "/" DB_NAME);
        r = sqlite3_open_v2(path, &db->handle,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                            NULL);
    }
    bool cut = n > 0 && (size_t)n >= room;
    if (n <= 0)
        r = err_set(err, err_code_for(errno, ERR_INTERNAL),
                    "`" DB_NAME "` cannot be opened: reading %s: %s; is /proc mounted?", link,
                    strerror(errno));
    else if (r != SQLITE_OK)
        r = db->handle ? db_error(db, err) : db_unusable(cut ? ENAMETOOLONG : ENOMEM, err);
    else
        r = prepare_db(db, durable, err) < 0 ? -1 : check_db_writable(db, state_fd, err);
    if (r < 0) {
        db_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

void db_leave_checkpoints(struct db *db)
{
    db->leaves_checkpoints = true;
}

void db_checkpoint(struct db *db)
{
    sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

void db_has_removed(struct db *db)
{
    db->has_removed = true;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (!db->handle) {
        free(db);
        return;
    }
    db_rollback(db);
    for (size_t i = 0; i < db->n; i++)
        sqlite3_finalize(db->all[i].statement);
    /* Until then the file still has it; others may keep the log open. */
    if (db->has_removed)
        db_checkpoint(db);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                      db->wal_pages <= WAL_PAGES_LEFT && !db->has_removed, (int *)NULL);
    sqlite3_close(db->handle);
    free(db);
}
