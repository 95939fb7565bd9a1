/* The chain as others see it: the check that the documentation shows, heads, anchors, rotation. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include "audit_log.h"
#include "base/fd.h"
#include "store/audit_recover.h"

#define FIRST "audit/000.jsonl"
#define SECOND "audit/001.jsonl"

static const struct audit_options PLAIN = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 1 << 30};
static const struct audit_options SMALL = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 3000};

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *text = mem_zero(1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

/* A gate with two calls open, killed. */
static void dies(const struct audit_options *options, int calls)
{
    pid_t child = log_fork();
    if (child == 0) {
        struct audit *audit = log_gate(options);
        log_put(audit, "call.intent", 1000);
        log_put(audit, "call.intent", 1001);
        log_calls(audit, calls);
        log_noted(audit, "000.jsonl");
        _exit(0);
    }
    log_wait(child, 0);
}

static int run_documented_check(void)
{
    FREE_AT_END char *text = read_all(SOURCE_DIR "/docs/PROTOCOL.md");
    char *from = strstr(text, "```python\n");
    assert_non_null(from);
    from += strlen("```python\n");
    char *to = strstr(from, "```");
    assert_non_null(to);
    int fd = open("check.py", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(fd_write_all(fd, from, (size_t)(to - from)), 0);
    close(fd);
    return system("python3 check.py audit >check.out 2>&1");
}

static void a_stranger_can_check_it(void **state)
{
    (void)state;
    dies(&SMALL, 10);
    assert_int_equal(system("printf '{\"ts\":\"20' >>" FIRST), 0);
    struct audit *one = log_gate(&SMALL);
    struct audit *two = log_gate(&PLAIN);
    log_calls(one, 20);
    log_calls(two, 3);
    log_close(one);
    log_close(two);
    assert_true(log_is_whole()->report.files >= 3);
    assert_int_equal(log_is_whole()->report.torn, 1);
    if (run_documented_check() != 0)
        fail_msg("%s", read_all("check.out"));
    assert_int_equal(system("sed -i s/file.read/file.raed/ audit/*.jsonl"), 0);
    assert_int_not_equal(run_documented_check(), 0);
}

static void add_bytes(const char *path, const char *bytes, size_t n)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

static bool is_clean(const char *path)
{
    struct stat st;
    struct audit_last ignored;
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    return audit_ended_cleanly(fd, st.st_size, &ignored);
}

/* Every start looks at every slot. */
static void what_was_recovered_is_not_read_again(void **state)
{
    (void)state;
    static const char *const torn[] = {"x", "x\n", "\n", "{\"ts\":\"20", "a\nb\n\n{}\nc"};
    static char much[300000];
    memset(much, 'y', sizeof much);
    for (size_t i = 0; i <= ARRAY_LEN(torn); i++) {
        struct audit *one = log_gate(&PLAIN);
        struct audit *two = log_gate(&PLAIN);
        log_calls(two, 3);
        log_close(two);
        assert_true(is_clean(SECOND));
        if (i < ARRAY_LEN(torn))
            add_bytes(SECOND, torn[i], strlen(torn[i]));
        else
            add_bytes(SECOND, much, sizeof much);
        assert_false(is_clean(SECOND));
        log_close(one);
        log_close(log_gate(&PLAIN));
        assert_true(is_clean(SECOND));
    }
    assert_int_equal(log_is_whole()->report.slots, 2);
    /* A number that is not the right one. */
    assert_int_equal(system("sed -i 's/\"torn\":300000/\"torn\":300001/' " SECOND), 0);
    assert_false(is_clean(SECOND));
    /* Nothing before it at all. */
    assert_int_equal(unlink(SECOND), 0);
    assert_int_equal(system("echo no record >" SECOND), 0);
    log_close(log_gate(&PLAIN));
    assert_true(is_clean(SECOND));
}

/* --- a long file */

#define LONG_CALLS 6000

static void put_calls(struct audit *audit, int n)
{
    struct err err;
    for (int i = 0; i < n; i++) {
        log_put(audit, "call.intent", i);
        log_put(audit, "call.outcome", i);
        assert_int_equal(audit_flush(audit, &err), 0);
    }
}

/* A gate with a call open since its beginning and one from the middle, killed. Its head is noted before that many of
 * the calls at the end. */
static void dies_late(int behind_head)
{
    pid_t child = log_fork();
    if (child == 0) {
        struct audit *audit = log_gate(&PLAIN);
        log_put(audit, "call.intent", 10001);
        put_calls(audit, (LONG_CALLS - behind_head) / 2);
        log_put(audit, "call.intent", 10002);
        put_calls(audit, (LONG_CALLS - behind_head) / 2);
        log_flush(audit);
        log_noted(audit, "000.jsonl");
        put_calls(audit, behind_head);
        _exit(0);
    }
    log_wait(child, 0);
}

/* Bytes that this process has read so far, by whatever system call. */
static long long bytes_read(void)
{
    long long n = -1;
    FILE *io = fopen("/proc/self/io", "re");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %lld", &n), 1);
    fclose(io);
    return n;
}

static char *end_of(const char *path)
{
    char *text = mem_zero(8192);
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_true(size > 2000000);
    assert_true(pread(fd, text, 4000, size - 4000) == 4000);
    return text;
}

static void a_long_file_is_read_from_its_end(void **state)
{
    (void)state;
    dies_late(0);
    long long before = bytes_read();
    struct audit *audit = log_gate(&PLAIN);
    assert_in_range(bytes_read() - before, 1, 800000);
    FREE_AT_END char *text = end_of(FIRST);
    const char *first = strstr(text, "\"kind\":\"call.interrupted\"");
    assert_non_null(first);
    first = strstr(first, "\"call\":\"c10001\",\"tool\":\"file.read\"");
    assert_non_null(first);
    assert_non_null(strstr(first, "\"call\":\"c10002\",\"tool\":\"file.read\""));
    assert_null(strstr(strstr(first, "c10002\"") + 8, "call.interrupted"));
    assert_null(strstr(text, "missing_seq"));
    log_close(audit);
    log_is_whole();
}

static void a_head_far_back_is_found(void **state)
{
    (void)state;
    dies_late(LONG_CALLS - 10);
    log_close(log_gate(&PLAIN));
    FREE_AT_END char *text = end_of(FIRST);
    assert_null(strstr(text, "missing_seq"));
    assert_non_null(strstr(text, "c10001"));
    log_is_whole();
}

/* What a killed gate noted and is not there any more, though more than recovery reads is. */
static void a_head_that_is_gone_is_missed_in_a_long_file(void **state)
{
    (void)state;
    dies_late(0);
    struct stat st;
    assert_int_equal(stat(FIRST, &st), 0);
    assert_int_equal(truncate(FIRST, st.st_size - 1000), 0);
    log_close(log_gate(&PLAIN));
    FREE_AT_END char *text = end_of(FIRST);
    assert_non_null(strstr(text, "\"missing_seq\":"));
    assert_true(log_verify((struct str){0})->n > 0);
}

/* More open calls than are listed: none of them is forgotten. */
static void many_open_calls_are_all_interrupted(void **state)
{
    (void)state;
    const int open = 1500;
    pid_t child = log_fork();
    if (child == 0) {
        struct audit *audit = log_gate(&PLAIN);
        for (int i = 0; i < open; i++)
            log_put(audit, "call.intent", 20000 + i);
        put_calls(audit, LONG_CALLS);
        _exit(0);
    }
    log_wait(child, 0);
    log_close(log_gate(&PLAIN));
    FILE *pipe = popen("grep -c '\"kind\":\"call.interrupted\"' " FIRST, "re");
    int found = 0;
    assert_int_equal(fscanf(pipe, "%d", &found), 1);
    pclose(pipe);
    assert_int_equal(found, open);
    log_is_whole();
}

/* --- rotation */

static void open_calls_are_known_behind_a_rotation(void **state)
{
    (void)state;
    dies(&SMALL, 40);
    struct audit *audit = log_gate(&PLAIN);
    FREE_AT_END char *text = read_all(FIRST);
    const char *first = strstr(text, "\"kind\":\"call.interrupted\"");
    assert_non_null(first);
    assert_non_null(strstr(first, "\"call\":\"c1000\""));
    assert_non_null(strstr(first, "\"call\":\"c1001\""));
    assert_null(strstr(text, "missing_seq"));
    log_close(audit);
    assert_true(log_is_whole()->report.files >= 2);
}

/* The new file has the old one's name, and nothing else has happened yet. */
static void a_death_within_a_rotation_is_recovered(void **state)
{
    (void)state;
    dies(&SMALL, 40);
    assert_int_equal(truncate(FIRST, 0), 0);
    glob_t found;
    assert_int_equal(glob("audit/000.*Z.jsonl", 0, NULL, &found), 0);
    FREE_AT_END char *last = read_all(found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    assert_non_null(strstr(last, "log.rotated"));
    /* As it was before the last head. */
    struct err err;
    struct db *db = NULL;
    assert_int_equal(db_open(&db, folder_fd, false, &err), 0);
    sqlite3_stmt *set = db_statement(db, "UPDATE audit_head SET seq = 0, hash = '" CHAIN_NONE "'");
    assert_int_equal(db_step(set), SQLITE_DONE);
    db_close(db);
    struct audit *audit = log_gate(&PLAIN);
    FREE_AT_END char *text = read_all(FIRST);
    assert_non_null(strstr(text, "\"seq\":"));
    assert_ptr_equal(strstr(text, "\"kind\":\"log.continued\""), strstr(text, "\"kind\":"));
    assert_non_null(strstr(text, "\"call\":\"c1000\""));
    assert_non_null(strstr(text, "recovered_by"));
    log_close(audit);
    log_is_whole();
}

static void only_so_many_files_are_kept(void **state)
{
    (void)state;
    struct audit_options few = SMALL;
    few.max_files = 3;
    struct audit *audit = log_gate(&few);
    glob_t found;
    for (int i = 0; i < 30; i++) {
        log_calls(audit, 5);
        log_noted(audit, "000.jsonl");
    }
    log_close(audit);
    assert_int_equal(glob("audit/000.*Z.jsonl", 0, NULL, &found), 0);
    assert_in_range(found.gl_pathc, 3, 5);
    assert_true(log_is_whole()->report.removed > 3);
    /* One that was not to go. */
    assert_int_equal(unlink(found.gl_pathv[found.gl_pathc - 1]), 0);
    globfree(&found);
    assert_true(log_verify((struct str){0})->n > 0);
}

/* Names go on in their order when the clock does not. */
static void a_clock_put_back_changes_no_order(void **state)
{
    (void)state;
    struct audit *audit = log_gate(&SMALL);
    glob_t found;
    while (glob("audit/000.*Z.jsonl", 0, NULL, &found) != 0)
        log_calls(audit, 1);
    assert_int_equal(rename(found.gl_pathv[0], "audit/000.20991231T235959.999Z.jsonl"), 0);
    globfree(&found);
    while (access("audit/000.21000101T000000.000Z.jsonl", F_OK) < 0)
        log_calls(audit, 1);
    log_close(audit);
    log_is_whole();
}

/* --- heads */

static void without_its_head_nothing_runs(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(system("rm -f state.db* && mkdir state.db"), 0);
    struct audit *audit = NULL;
    assert_int_equal(audit_open(&audit, &loop, folder_fd, &PLAIN, &err), -1);
    if (!strstr(err.message, "state.db"))
        fail_msg("%s", err.message);
    assert_int_equal(access("audit", F_OK), -1);
    assert_int_equal(rmdir("state.db"), 0);
    audit = log_gate(&PLAIN);
    log_calls(audit, 1);
    log_close(audit);
    log_is_whole();
}

static void a_lock_of_others_is_waited_for(void **state)
{
    (void)state;
    struct err err = {0};
    struct db *db = NULL;
    if (!random_is_soak())
        return; /* takes 5 s */
    assert_int_equal(db_open(&db, folder_fd, false, &err), 0);
    assert_int_equal(db_begin(db, 0, &err), 0);
    struct audit *audit = log_gate(&PLAIN);
    uint64_t begun = uv_hrtime();
    while (audit_flush(audit, &err) == 0)
        uv_run(&loop, UV_RUN_ONCE);
    assert_true(uv_hrtime() - begun > 4500000000u);
    assert_string_equal(err.reason, "state_locked");
    db_close(db);
    while (audit_flush(audit, &err) < 0)
        uv_run(&loop, UV_RUN_NOWAIT);
    log_close(audit);
    log_is_whole();
}

static void one_head_a_slot_is_kept(void **state)
{
    (void)state;
    struct err err;
    static struct head_rows rows;
    struct audit_heads heads = {.state_fd = folder_fd};
    for (int i = 0; i < 5; i++)
        log_close(log_gate(&PLAIN));
    assert_int_equal(audit_heads_read(&heads, "000.jsonl", NULL, &rows, &err), 0);
    assert_int_equal(rows.n, 1);
    assert_true(rows.rows[0].stopped);
    assert_int_equal(rows.rows[0].head.seq, 2);
    audit_heads_done(&heads);
}

/* --- anchors */

static char warned[512];
static int warnings;

static void on_warning(void *arg, const char *message)
{
    (void)arg;
    warnings++;
    snprintf(warned, sizeof warned, "%s", message);
}

static void the_anchor_gets_each_head(void **state)
{
    (void)state;
    FREE_AT_END char *script = mem_format(
        "cd %s && cat >>anchored; env >seen; ls /proc/self/fd >descriptors", folder);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct audit_options options = PLAIN;
    options.anchor.argv = argv;
    options.anchor_ms = 1;
    setenv("SECRET", "x", 1);
    struct audit *audit = log_gate(&options);
    log_calls(audit, 1);
    while (access("anchored", F_OK) < 0)
        uv_run(&loop, UV_RUN_ONCE);
    log_calls(audit, 3);
    log_close(audit);
    FREE_AT_END char *lines = read_all("anchored");
    FREE_AT_END char *seen = read_all("seen");
    FREE_AT_END char *descriptors = read_all("descriptors");
    assert_null(strstr(seen, "SECRET"));
    assert_non_null(strstr(descriptors, "2\n")); /* 3 is the folder that is listed */
    assert_null(strstr(descriptors, "4\n"));
    struct str anchors = {lines, strlen(lines)};
    const struct findings *found = log_verify(anchors);
    if (found->n)
        fail_msg("%s:%d: %s\n%s", found->bad[0].file, (int)found->bad[0].line, found->bad[0].text,
                 lines);
    assert_true(found->report.anchors >= 2);
    /* A new log, with heads that fit. */
    assert_int_equal(system("rm -rf audit state.db*"), 0);
    log_close(log_gate(&PLAIN));
    log_is_whole();
    assert_true(log_verify(anchors)->n >= 2);
}

static void a_failing_anchor_is_told_once(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sh", "-c", "exit 3", NULL};
    struct audit_options options = PLAIN;
    options.anchor.argv = argv;
    options.anchor_ms = 1;
    options.warn = on_warning;
    warnings = 0;
    struct audit *audit = log_gate(&options);
    log_calls(audit, 1);
    for (int i = 0; i < 5 || warnings == 0; i++) {
        log_calls(audit, 1);
        uv_run(&loop, UV_RUN_ONCE);
    }
    log_close(audit);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(warned, "status 3"));
    FREE_AT_END char *text = read_all(FIRST);
    const char *record = strstr(text, "\"kind\":\"anchor.failed\"");
    assert_non_null(record);
    assert_null(strstr(record + 1, "\"kind\":\"anchor.failed\""));
    log_is_whole();
}

static void an_anchor_has_little_time(void **state)
{
    (void)state;
    if (!random_is_soak())
        return; /* takes 10 s */
    const char *const argv[] = {"/bin/sleep", "60", NULL};
    struct audit_options options = PLAIN;
    options.anchor.argv = argv;
    options.warn = on_warning;
    log_close(log_gate(&options));
    assert_non_null(strstr(warned, "10 s"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, log_set_up, log_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_recovered_is_not_read_again),
        TEST(a_stranger_can_check_it),
        TEST(a_long_file_is_read_from_its_end),
        TEST(a_head_far_back_is_found),
        TEST(a_head_that_is_gone_is_missed_in_a_long_file),
        TEST(many_open_calls_are_all_interrupted),
        TEST(open_calls_are_known_behind_a_rotation),
        TEST(a_death_within_a_rotation_is_recovered),
        TEST(only_so_many_files_are_kept),
        TEST(a_clock_put_back_changes_no_order),
        TEST(without_its_head_nothing_runs),
        TEST(a_lock_of_others_is_waited_for),
        TEST(one_head_a_slot_is_kept),
        TEST(the_anchor_gets_each_head),
        TEST(a_failing_anchor_is_told_once),
        TEST(an_anchor_has_little_time),
    };
    return cmocka_run_group_tests_name("audit_chain", tests, NULL, NULL);
}
