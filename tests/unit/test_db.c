#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "random.h"
#include "store_parts.h"

#define FILE_NAME "state.db"
#define WAL_NAME "state.db-wal"

/* --- what is needed below */

struct bytes {
    unsigned char *p;
    size_t n;
};

static void bytes_done(struct bytes *bytes)
{
    free(bytes->p);
}
#define BYTES_AT_END CLEANUP(bytes_done)

static struct bytes read_file(const char *name)
{
    struct stat st;
    FD_AT_END int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    struct bytes bytes = {mem_zero((size_t)st.st_size + 1), (size_t)st.st_size};
    assert_int_equal(fd_read_upto(fd, bytes.p, bytes.n), bytes.n);
    return bytes;
}

static void write_file(const char *name, const void *p, size_t n)
{
    FD_AT_END int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, p, n), 0);
}

static void assert_unchanged(const char *name, const struct bytes *before)
{
    BYTES_AT_END struct bytes now = read_file(name);
    assert_int_equal(now.n, before->n);
    assert_memory_equal(now.p, before->p, now.n);
}

static void assert_refused(const char *reason, const char *words)
{
    struct db *db = NULL;
    struct err err = {0};
    assert_int_equal(db_open(&db, folder_fd, false, &err), -1);
    assert_null(db);
    assert_string_equal(err.reason, reason);
    assert_non_null(strstr(err.message, words));
    assert_non_null(strstr(err.message, "nothing runs"));
}

/* With `rows` budgets, all of them in the file itself and none in the log beside it. */
static void make_database(int rows)
{
    struct err err;
    struct db *db = store_open();
    store_begin(db);
    for (int i = 0; i < rows; i++) {
        char key[64];
        snprintf(key, sizeof key, "counter number %d", i);
        sqlite3_stmt *s = db_statement(
            db, "INSERT INTO budget (key, since_ms, until_ms, spent) VALUES (?, 1, 2, 3)");
        sqlite3_bind_text(s, 1, key, -1, SQLITE_TRANSIENT);
        assert_int_equal(db_step(s), SQLITE_DONE);
    }
    assert_int_equal(db_commit(db, &err), 0);
    db_close(db);
    store_run_sql(FILE_NAME, "PRAGMA wal_checkpoint(TRUNCATE)");
    struct stat st;
    if (stat(WAL_NAME, &st) == 0)
        assert_int_equal(st.st_size, 0);
}

static int write_something(struct db *db, struct err *err)
{
    if (db_begin(db, 5000, err) != 0)
        return -1;
    if (db_step(db_statement(db, "UPDATE clock SET seen_ms = seen_ms + 1")) != SQLITE_DONE) {
        db_error(db, err);
        db_rollback(db);
        return -1;
    }
    return db_commit(db, err);
}

/* --- opening */

static const char *closed_for_writing; /* how the names of files end that cannot be opened so */

static int open_unless_closed(const char *path, int flags, int mode)
{
    size_t n = strlen(path);
    size_t end = closed_for_writing ? strlen(closed_for_writing) : 0;
    if (end && (flags & O_ACCMODE) == O_RDWR && n >= end &&
        strcmp(path + n - end, closed_for_writing) == 0) {
        errno = EMFILE;
        return -1;
    }
    return open(path, flags | O_CLOEXEC, mode);
}

/* SQLite then reads, and every write fails for as long as the handle is open. */
static void one_that_can_only_be_read_is_not_kept(void **state)
{
    (void)state;
    static const char *const names[] = {FILE_NAME, WAL_NAME, FILE_NAME "-shm"};
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    make_database(1);
    vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_unless_closed);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct db *db = NULL;
        struct err err = {0};
        closed_for_writing = names[i];
        int r = db_open(&db, folder_fd, false, &err);
        if (r == 0)
            db_close(db);
        closed_for_writing = NULL;
        if (r != -1 || err.code != ERR_SESSION_BUSY || strcmp(err.reason, "no_resources") != 0)
            fail_msg("%s: %d %s: %s", names[i], r, err_row(err.code)->name, err.message);
        db = store_open();
        assert_int_equal(write_something(db, &err), 0);
        db_close(db);
    }
    vfs->xSetSystemCall(vfs, "open", NULL);
}

static void makes_a_file_for_its_owner_alone(void **state)
{
    (void)state;
    struct stat st;
    struct err err;
    mode_t before = umask(0);
    struct db *db = store_open();
    assert_int_equal(write_something(db, &err), 0);
    umask(before);
    static const char *const names[] = {FILE_NAME, WAL_NAME, "state.db-shm"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(stat(names[i], &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | 0600);
    }
    db_close(db);
    db = store_open();
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 1);
    db_close(db);
    /* Nothing of the making is left. */
    assert_int_equal(access("state.db.new", F_OK), -1);
    FREE_AT_END char *command = mem_format("test $(ls '%s' | grep -vc '^state.db') = 0", folder);
    FREE_AT_END char *fresh = mem_format("test $(ls '%s' | grep -c new) = 0", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(system(fresh), 0);
}

static int open_and_write(void *arg)
{
    int *ready = arg;
    struct db *db;
    struct err err;
    char byte;
    if (read(ready[0], &byte, 1) < 0)
        return 3;
    if (db_open(&db, folder_fd, false, &err) < 0)
        return 1;
    int r = write_something(db, &err);
    db_close(db);
    return r < 0 ? 2 : 0;
}

static void several_open_it_at_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(30); round++) {
        pid_t pids[4];
        int ready[2];
        unlink(FILE_NAME);
        unlink(WAL_NAME);
        unlink("state.db-shm");
        assert_int_equal(pipe(ready), 0);
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            pids[i] = store_fork(open_and_write, ready);
        assert_int_equal(write(ready[1], "1234", 4), 4);
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            assert_int_equal(store_wait(pids[i]), 0);
        close(ready[0]);
        close(ready[1]);
        struct db *db = store_open();
        assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), ARRAY_LEN(pids));
        db_close(db);
    }
}

static int open_and_die(void *arg)
{
    (void)arg;
    struct db *db;
    struct err err;
    for (;;) {
        if (db_open(&db, folder_fd, false, &err) < 0)
            return 1;
        if (write_something(db, &err) < 0)
            return 2;
        db_close(db);
    }
}

static void a_killed_gate_leaves_a_good_file(void **state)
{
    (void)state;
    int64_t last = 0;
    for (unsigned round = 0; round < random_rounds(20); round++) {
        pid_t pid = store_fork(open_and_die, NULL);
        nanosleep(&(struct timespec){.tv_nsec = (long)random_below(8000000)}, NULL);
        kill(pid, SIGKILL);
        assert_int_equal(store_wait(pid), -SIGKILL);
        struct db *db = store_open();
        int64_t now = store_number(db, "SELECT seen_ms FROM clock");
        assert_true(now >= last);
        last = now;
        db_close(db);
    }
    store_run_sql(FILE_NAME, "PRAGMA integrity_check");
}

/* --- damage */

static void refuses_random_bytes(void **state)
{
    (void)state;
    unsigned char noise[8192];
    for (int round = 0; round < 20; round++) {
        size_t n = 1 + random_below(sizeof noise);
        random_bytes(noise, n);
        write_file(FILE_NAME, noise, n);
        BYTES_AT_END struct bytes before = read_file(FILE_NAME);
        assert_refused("state_damaged", "is damaged");
        assert_unchanged(FILE_NAME, &before);
    }
}

static void refuses_a_damaged_head(void **state)
{
    (void)state;
    make_database(10);
    BYTES_AT_END struct bytes good = read_file(FILE_NAME);
    for (int round = 0; round < 20; round++) {
        memset(good.p, 0x5a + round, 16);
        write_file(FILE_NAME, good.p, good.n);
        assert_refused("state_damaged", "is damaged");
        assert_unchanged(FILE_NAME, &good);
    }
}

/* As new files have them. */
#define PAGE ((size_t)1024)

static void refuses_a_truncated_file(void **state)
{
    (void)state;
    make_database(500);
    BYTES_AT_END struct bytes good = read_file(FILE_NAME);
    assert_true(good.n > 20 * PAGE);
    static const size_t lengths[] = {0, 100, 512, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE, 20 * PAGE};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct bytes cut = {good.p, lengths[i]};
        write_file(FILE_NAME, cut.p, cut.n);
        assert_refused("state_damaged", lengths[i] ? "is damaged" : "is empty");
        assert_unchanged(FILE_NAME, &cut);
    }
    write_file(FILE_NAME, good.p, good.n);
    struct db *db = store_open();
    assert_int_equal(store_number(db, "SELECT count(*) FROM budget"), 500);
    db_close(db);
}

/* Page after page becomes noise: whatever is read of it is refused, or is what was written. */
static void a_damaged_page_is_an_error(void **state)
{
    (void)state;
    make_database(500);
    BYTES_AT_END struct bytes good = read_file(FILE_NAME);
    size_t seen = 0;
    for (size_t page = 1; page < good.n / PAGE; page++) {
        BYTES_AT_END struct bytes bad = {(unsigned char *)mem_copy((char *)good.p, good.n), good.n};
        random_bytes(bad.p + page * PAGE, PAGE);
        write_file(FILE_NAME, bad.p, bad.n);
        struct db *db = NULL;
        struct err err = {0};
        if (db_open(&db, folder_fd, false, &err) < 0) { /* a page of the definitions */
            assert_string_equal(err.reason, "state_damaged");
            assert_unchanged(FILE_NAME, &bad);
            unlink(WAL_NAME);
            continue;
        }
        sqlite3_stmt *s = db_statement(db, "SELECT key, spent FROM budget NOT INDEXED");
        int r;
        size_t rows = 0;
        while ((r = db_step(s)) == SQLITE_ROW)
            rows++;
        if (r == SQLITE_DONE) {
            assert_int_equal(rows, 500);
        } else {
            seen++;
            assert_int_equal(db_error(db, &err), -1);
            assert_string_equal(err.reason, "state_damaged");
        }
        db_close(db);
        assert_unchanged(FILE_NAME, &bad);
        unlink(WAL_NAME);
    }
    assert_true(seen > 3);
}

/* The definitions of the tables are on the first page, behind the head. */
static void damaged_definitions_are_an_error(void **state)
{
    (void)state;
    make_database(1);
    BYTES_AT_END struct bytes bad = read_file(FILE_NAME);
    random_bytes(bad.p + 100, PAGE - 100);
    write_file(FILE_NAME, bad.p, bad.n);
    assert_refused("state_damaged", "is damaged");
    assert_unchanged(FILE_NAME, &bad);
}

static void a_missing_table_is_an_error(void **state)
{
    (void)state;
    make_database(1);
    store_run_sql(FILE_NAME, "DROP TABLE clock");
    struct db *db = store_open();
    struct err err = {0};
    assert_int_equal(write_something(db, &err), -1);
    assert_non_null(strstr(err.message, "no such table"));
    assert_string_equal(err.reason, "state_failed");
    db_close(db);
}

/* Changes to the old file must not find their way into a new one. */
static void refuses_to_begin_anew_beside_old_changes(void **state)
{
    (void)state;
    struct err err;
    struct db *db = store_open();
    assert_int_equal(write_something(db, &err), 0);
    db_close(db);
    assert_int_equal(unlink(FILE_NAME), 0);
    assert_refused("state_damaged", "state.db-wal");
    assert_int_equal(access(FILE_NAME, F_OK), -1);
    assert_int_equal(unlink(WAL_NAME), 0);
    db = store_open();
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 0);
    db_close(db);
}

/* --- not ours */

static void refuses_a_newer_version(void **state)
{
    (void)state;
    make_database(1);
    store_run_sql(FILE_NAME, "PRAGMA user_version = 12345; PRAGMA wal_checkpoint(TRUNCATE)");
    BYTES_AT_END struct bytes before = read_file(FILE_NAME);
    assert_refused("state_newer", "newer version of Sandgate (tables 12345");
    assert_unchanged(FILE_NAME, &before);
}

static void refuses_what_another_program_made(void **state)
{
    (void)state;
    static const char *const others[] = {
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a); PRAGMA application_id = -5; PRAGMA user_version = 1",
        "CREATE TABLE t (a); PRAGMA application_id = 77; PRAGMA user_version = -1",
        "VACUUM",
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        write_file(FILE_NAME, "", 0);
        store_run_sql(FILE_NAME, "PRAGMA user_version = 0");
        store_run_sql(FILE_NAME, others[i]);
        struct stat st;
        assert_int_equal(stat(FILE_NAME, &st), 0);
        if (st.st_size == 0) {
            assert_refused("state_damaged", "is empty");
            continue;
        }
        BYTES_AT_END struct bytes before = read_file(FILE_NAME);
        assert_refused("state_foreign", "is not Sandgate's");
        assert_unchanged(FILE_NAME, &before);
    }
}

static void refuses_what_is_not_a_plain_file(void **state)
{
    (void)state;
    make_database(1);
    assert_int_equal(link(FILE_NAME, "second"), 0);
    assert_refused("state_unsafe", "one name");
    assert_int_equal(unlink("second"), 0);
    assert_int_equal(rename(FILE_NAME, "elsewhere"), 0);
    unlink(WAL_NAME);
    assert_int_equal(symlink("elsewhere", FILE_NAME), 0);
    assert_refused("state_unsafe", "not a plain file");
    assert_int_equal(unlink(FILE_NAME), 0);
    assert_int_equal(symlink("nowhere", FILE_NAME), 0);
    assert_refused("state_unsafe", "not a plain file");
    assert_int_equal(access("nowhere", F_OK), -1);
    assert_int_equal(unlink(FILE_NAME), 0);
    assert_int_equal(mkdir(FILE_NAME, 0700), 0);
    assert_refused("state_unsafe", "not a plain file");
    assert_int_equal(rmdir(FILE_NAME), 0);
    assert_int_equal(mkfifo(FILE_NAME, 0600), 0);
    assert_refused("state_unsafe", "not a plain file");
}

static void refuses_one_that_others_can_read(void **state)
{
    (void)state;
    static const mode_t modes[] = {0644, 0640, 0604, 0620, 0602, 0601};
    make_database(1);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(chmod(FILE_NAME, modes[i]), 0);
        assert_refused("state_unsafe", "chmod 600");
    }
    assert_int_equal(chmod(FILE_NAME, 0600), 0);
    db_close(store_open());
    if (geteuid() == 0) {
        assert_int_equal(chown(FILE_NAME, 12345, 12345), 0);
        assert_refused("state_unsafe", "yours alone");
    }
}

/* --- when it cannot be written */

/* Root without its capabilities is as bound by modes as anyone. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    return (int)syscall(SYS_capset, &head, none);
}

static int open_unwritable(void *arg)
{
    const char *words = arg;
    struct db *db;
    struct err err = {0};
    if (drop_capabilities() < 0)
        return 9;
    if (db_open(&db, folder_fd, false, &err) == 0) {
        if (write_something(db, &err) == 0)
            return 1;
        db_close(db);
    }
    return strcmp(err.reason, "state_unwritable") != 0 ? 2
           : !strstr(err.message, words)               ? 3
           : !strstr(err.message, "nothing runs")      ? 4
                                                       : 0;
}

static void a_read_only_folder_is_an_error(void **state)
{
    (void)state;
    char *words = mem_dup("permissions");
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(store_wait(store_fork(open_unwritable, words)), 0);
    assert_int_equal(access(FILE_NAME, F_OK), -1);
    assert_int_equal(chmod(folder, 0700), 0);
    make_database(1);
    unlink(WAL_NAME);
    unlink("state.db-shm");
    BYTES_AT_END struct bytes before = read_file(FILE_NAME);
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(store_wait(store_fork(open_unwritable, words)), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(chmod(FILE_NAME, 0400), 0);
    assert_int_equal(store_wait(store_fork(open_unwritable, words)), 0);
    assert_int_equal(chmod(FILE_NAME, 0600), 0);
    assert_unchanged(FILE_NAME, &before);
    free(words);
}

static int hold_lock(void *arg)
{
    int *pipes = arg;
    struct db *db;
    struct err err;
    char byte;
    if (db_open(&db, folder_fd, false, &err) < 0 || db_begin(db, 5000, &err) != 0)
        return 1;
    if (write(pipes[1], "x", 1) != 1 || read(pipes[2], &byte, 1) != 1)
        return 2;
    db_close(db);
    return 0;
}

static void waits_for_a_lock_as_long_as_told(void **state)
{
    (void)state;
    int pipes[4];
    char byte;
    struct err err = {0};
    struct db *db = store_open();
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(pipes + 2), 0);
    pid_t pid = store_fork(hold_lock, pipes);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    uint64_t began = clock_mono_ns();
    assert_int_equal(db_begin(db, 0, &err), 1);
    assert_string_equal(err.reason, "state_locked");
    assert_int_equal(db_need_transaction(db, &err), -1);
    assert_int_equal(db_begin(db, 300, &err), 1);
    uint64_t ms = (clock_mono_ns() - began) / 1000000;
    assert_in_range(ms, 200, 5000);
    /* Who only reads does not wait, and who opens neither. */
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 0);
    db_close(store_open());
    assert_int_equal(write(pipes[3], "x", 1), 1);
    assert_int_equal(write_something(db, &err), 0);
    assert_int_equal(store_wait(pid), 0);
    db_close(db);
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        close(pipes[i]);
}

static int fill_up(struct db *db, struct err *err)
{
    int n = 0;
    for (; n < 100000; n++) {
        if (db_begin(db, 1000, err) != 0)
            return -2;
        sqlite3_stmt *s = db_statement(db, "INSERT INTO stat (name, labels, value) VALUES "
                                           "(hex(randomblob(500)), hex(randomblob(500)), 1)");
        if (db_step(s) != SQLITE_DONE) {
            db_error(db, err);
            /* SQLite has ended the transaction by itself, or it is still there. */
            db_rollback(db);
            break;
        }
        if (db_commit(db, err) < 0)
            break;
    }
    return n;
}

/* The first reason to refuse stays, and what was written before can be read. */
static int fill_and_read(const char *reason)
{
    struct db *db;
    struct err err = {0};
    if (db_open(&db, folder_fd, false, &err) < 0)
        return 1;
    int n = fill_up(db, &err);
    if (n <= 0 || n == 100000)
        return 2;
    if (strcmp(err.reason, reason) != 0)
        return 3;
    if (fill_up(db, &err) < 0 || strcmp(err.reason, reason) != 0)
        return 4;
    sqlite3_stmt *s = db_statement(db, "SELECT count(*) FROM stat");
    if (db_step(s) != SQLITE_ROW || sqlite3_column_int64(s, 0) < n)
        return 5;
    sqlite3_reset(s);
    db_close(db);
    return 0;
}

static int fill_to_limit(void *arg)
{
    (void)arg;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
    return fill_and_read("state_failed");
}

static void a_failing_write_is_an_error(void **state)
{
    (void)state;
    make_database(1);
    assert_int_equal(store_wait(store_fork(fill_to_limit, NULL)), 0);
    struct db *db = store_open();
    struct err err;
    assert_true(store_number(db, "SELECT count(*) FROM stat") > 0);
    assert_int_equal(write_something(db, &err), 0);
    db_close(db);
}

#define NO_MOUNT 77

static int put(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

/* A plain user mounts in a namespace of users of its own. */
static int become_root(void)
{
    char users[64];
    char groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (geteuid() == 0)
        return 0;
    if (unshare(CLONE_NEWUSER) < 0 || put("/proc/self/setgroups", "deny") < 0 ||
        put("/proc/self/uid_map", users) < 0)
        return -1;
    return put("/proc/self/gid_map", groups);
}

static int mount_small_disk(void)
{
    if (become_root() < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=512k") < 0)
        return -1;
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd;
}

static int fill_disk(void *arg)
{
    (void)arg;
    return mount_small_disk() < 0 ? NO_MOUNT : fill_and_read("state_full");
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    int r = store_wait(store_fork(fill_disk, NULL));
    if (r == NO_MOUNT)
        skip();
    assert_int_equal(r, 0);
}

static int open_without_room(void *arg)
{
    (void)arg;
    struct db *db;
    struct err err = {0};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000, 5000});
    if (db_open(&db, folder_fd, false, &err) == 0)
        return 1;
    return err.code == ERR_DISK_FULL && strcmp(err.reason, "state_full") == 0 ? 0 : 2;
}

static void no_room_for_a_new_one_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(store_wait(store_fork(open_without_room, NULL)), 0);
    FREE_AT_END char *command = mem_format("test -z \"$(ls '%s')\"", folder);
    assert_int_equal(system(command), 0);
}

/* A transaction that SQLite had to give up is not gone on with, one statement at a time. */
static void a_transaction_that_broke_stays_broken(void **state)
{
    (void)state;
    struct err err = {0};
    struct db *db = store_open();
    char limit[64];
    snprintf(limit, sizeof limit, "PRAGMA max_page_count = %lld",
             (long long)store_number(db, "PRAGMA page_count"));
    store_number(db, limit);
    store_begin(db);
    assert_int_equal(db_step(db_statement(db, "UPDATE clock SET seen_ms = 7")), SQLITE_DONE);
    int r;
    do {
        sqlite3_stmt *s = db_statement(db, "INSERT INTO stat (name, labels, value) VALUES "
                                           "(hex(randomblob(500)), hex(randomblob(500)), 1)");
        r = db_step(s);
    } while (r == SQLITE_DONE);
    assert_int_equal(db_error(db, &err), -1);
    assert_int_equal(err.code, ERR_DISK_FULL);
    if (db_need_transaction(db, &err) < 0)
        assert_int_equal(db_commit(db, &err), -1);
    else
        db_rollback(db);
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 0);
    assert_int_equal(db_commit(db, &err), -1);
    db_close(db);
}

/* --- use */

static void tells_when_another_process_wrote(void **state)
{
    (void)state;
    struct err err;
    struct db *db = store_open();
    unsigned before = db_version(db);
    assert_int_equal(db_version(db), before);
    assert_int_equal(write_something(db, &err), 0);
    assert_int_equal(db_version(db), before);
    store_run_sql(FILE_NAME, "UPDATE clock SET seen_ms = 99");
    assert_int_not_equal(db_version(db), before);
    db_close(db);
}

static void a_rollback_leaves_nothing(void **state)
{
    (void)state;
    struct err err;
    struct db *db = store_open();
    store_begin(db);
    assert_int_equal(db_step(db_statement(db, "UPDATE clock SET seen_ms = 5")), SQLITE_DONE);
    db_rollback(db);
    db_rollback(db);
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 0);
    /* Neither does one that is closed in the middle, even with rows half read. */
    store_begin(db);
    assert_int_equal(db_step(db_statement(db, "UPDATE clock SET seen_ms = 5")), SQLITE_DONE);
    assert_int_equal(db_step(db_statement(db, "SELECT name FROM sqlite_schema")), SQLITE_ROW);
    db_close(db);
    db = store_open();
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 0);
    assert_int_equal(db_step(db_statement(db, "SELECT name FROM sqlite_schema")), SQLITE_ROW);
    store_run_sql(FILE_NAME, "UPDATE clock SET seen_ms = 8");
    assert_int_equal(write_something(db, &err), 0);
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 9);
    db_close(db);
}

/* Gates that run one call each leave their changes beside the file; they do not pile up there. */
static void what_is_left_beside_the_file_stays_small(void **state)
{
    (void)state;
    struct stat st;
    off_t largest = 0;
    for (int i = 0; i < 400; i++) {
        struct err err;
        struct db *db = store_open();
        assert_int_equal(write_something(db, &err), 0);
        db_close(db);
        if (stat(WAL_NAME, &st) == 0 && st.st_size > largest)
            largest = st.st_size;
    }
    assert_in_range(largest, 1, 120 * 4120);
    struct db *db = store_open();
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), 400);
    db_close(db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(makes_a_file_for_its_owner_alone),
        TEST(several_open_it_at_once),
        TEST(a_killed_gate_leaves_a_good_file),
        TEST(refuses_random_bytes),
        TEST(refuses_a_damaged_head),
        TEST(refuses_a_truncated_file),
        TEST(a_damaged_page_is_an_error),
        TEST(damaged_definitions_are_an_error),
        TEST(a_missing_table_is_an_error),
        TEST(refuses_to_begin_anew_beside_old_changes),
        TEST(refuses_a_newer_version),
        TEST(refuses_what_another_program_made),
        TEST(refuses_what_is_not_a_plain_file),
        TEST(refuses_one_that_others_can_read),
        TEST(a_read_only_folder_is_an_error),
        TEST(waits_for_a_lock_as_long_as_told),
        TEST(a_failing_write_is_an_error),
        TEST(a_full_disk_is_an_error),
        TEST(no_room_for_a_new_one_leaves_nothing),
        TEST(a_transaction_that_broke_stays_broken),
        TEST(tells_when_another_process_wrote),
        TEST(a_rollback_leaves_nothing),
        TEST(what_is_left_beside_the_file_stays_small),
        TEST(one_that_can_only_be_read_is_not_kept),
    };
    random_begin();
    return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
