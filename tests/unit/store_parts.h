/* The state folder is the test's folder; several processes use its database. */
#ifndef SANDGATE_TESTS_STORE_PARTS_H
#define SANDGATE_TESTS_STORE_PARTS_H

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "folder.h"
#include "store/db.h"

static inline struct db *store_open(void)
{
    struct db *db = NULL;
    struct err err = {0};
    if (db_open(&db, folder_fd, false, &err) < 0)
        fail_msg("%s", err.message);
    return db;
}

static inline void store_begin(struct db *db)
{
    struct err err = {0};
    if (db_begin(db, 60000, &err) != 0)
        fail_msg("%s", err.message);
}

static inline void store_commit(struct db *db)
{
    struct err err = {0};
    if (db_commit(db, &err) < 0)
        fail_msg("%s", err.message);
}

static inline int64_t store_number(struct db *db, const char *sql)
{
    sqlite3_stmt *s = db_statement(db, sql);
    assert_int_equal(db_step(s), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return value;
}

/* What another program does to the file. */
static inline void store_run_sql(const char *file, const char *sql)
{
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(file, &other), SQLITE_OK);
    sqlite3_busy_timeout(other, 5000);
    if (sqlite3_exec(other, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(other));
    sqlite3_close(other);
}

/* What `act` returns, up to 127, is the status. It must not use cmocka's assertions. */
static inline pid_t store_fork(int (*act)(void *arg), void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(act(arg));
    }
    assert_true(pid > 0);
    return pid;
}

/* The status, or minus the signal's number. */
static inline int store_wait(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
