/* Whatever is done to a log, verifying finds it and says where; of a log that nobody touched it says nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>

#include "audit_log.h"
#include "base/fd.h"
#include "store/audit_heads.h"

static const struct audit_options SMALL = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 3000};
static const struct audit_options LARGE = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 1 << 30};

/* --- a log with everything in it */

static void dies(const struct audit_options *options, int calls, const char *torn)
{
    pid_t child = log_fork();
    if (child == 0) {
        struct audit *audit = log_gate(options);
        log_calls(audit, calls);
        log_put(audit, "call.intent", 1000);
        log_put(audit, "call.intent", 1001);
        log_flush(audit);
        log_noted(audit, "000.jsonl");
        _exit(0);
    }
    log_wait(child, 0);
    FILE *file = fopen("audit/000.jsonl", "ae");
    assert_non_null(file);
    fputs(torn, file);
    fclose(file);
}

static void make_log(void)
{
    for (int i = 0; i < 3; i++) {
        struct audit *one = log_gate(&SMALL);
        struct audit *two = i < 2 ? log_gate(&LARGE) : NULL;
        log_calls(one, 4);
        if (two) {
            log_calls(two, 3);
            log_close(two);
        }
        log_close(one);
        dies(&SMALL, 6, i == 0 ? "{\"ts\":\"20" : i == 1 ? "" : "x\n\n{}\ny");
    }
    log_close(log_gate(&SMALL));
}

/* The log as it was, in memory. */
struct file {
    char name[64];
    char *bytes;
    size_t n;
    size_t lines[512]; /* where they begin; the last is the end */
    size_t n_lines;
};

static struct file files[64];
static size_t n_files;

static void remember(void)
{
    glob_t found;
    assert_int_equal(glob("audit/*.jsonl", 0, NULL, &found), 0);
    n_files = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct file *f = &files[n_files++];
        struct stat st;
        int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        assert_int_equal(fstat(fd, &st), 0);
        snprintf(f->name, sizeof f->name, "%s", found.gl_pathv[i] + 6);
        f->n = (size_t)st.st_size;
        f->bytes = mem_zero(f->n + 1);
        assert_int_equal(fd_read_upto(fd, f->bytes, f->n), f->n);
        close(fd);
        f->n_lines = 0;
        for (size_t at = 0; at < f->n; at++) {
            if (at == 0 || f->bytes[at - 1] == '\n')
                f->lines[f->n_lines++] = at;
        }
        assert_true(f->n > 0 && f->bytes[f->n - 1] == '\n' && f->n_lines < 500);
        f->lines[f->n_lines] = f->n;
    }
    globfree(&found);
}

static void forget(void)
{
    while (n_files)
        free(files[--n_files].bytes);
}

static void put_file(const char *name, const char *bytes, size_t n)
{
    FREE_AT_END char *path = mem_format("audit/%s", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, n), 0);
    close(fd);
}

static size_t index_of(const char *name)
{
    for (size_t i = 0; i < n_files; i++) {
        if (strcmp(files[i].name, name) == 0)
            return i;
    }
    return n_files;
}

/* At the place, later in the file, or at the head of the slot's next file; and never before it. */
static void must_find(size_t damaged, size_t line, const char *what)
{
    const struct findings *found = log_verify((struct str){0});
    bool right = false;
    for (size_t i = 0; i < found->n; i++) {
        size_t at = index_of(found->bad[i].file);
        if (at == n_files || memcmp(files[at].name, files[damaged].name, 3) != 0 || at < damaged ||
            (at == damaged && found->bad[i].line && found->bad[i].line < line))
            fail_msg("%s of %s:%zu: told of %s:%llu: %s", what, files[damaged].name, line,
                     found->bad[i].file, (unsigned long long)found->bad[i].line,
                     found->bad[i].text);
        right = right || at == damaged || (at == damaged + 1 && found->bad[i].line <= 1);
    }
    if (!right)
        fail_msg("%s of %s:%zu was not noticed there (%zu findings)", what, files[damaged].name,
                 line, found->n);
}

/* In place of bytes [from, to) of the file stand those given. */
static void damage(size_t i, size_t from, size_t to, struct str with, size_t line, const char *what)
{
    struct file *f = &files[i];
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    buf_add(&out, f->bytes, from);
    buf_add(&out, with.p, with.n);
    buf_add(&out, f->bytes + to, f->n - to);
    put_file(f->name, out.data ? out.data : "", out.len);
    must_find(i, line, what);
}

static void restore(size_t i)
{
    put_file(files[i].name, files[i].bytes, files[i].n);
}

static size_t line_at(const struct file *f, size_t at)
{
    size_t line = 0;
    while (f->lines[line + 1] <= at)
        line++;
    return line + 1;
}

/* Lines that were cut and the record that accounts for them are one piece: what is done to one may be told of
 * the first. */
static bool has_hash(const struct file *f, size_t line)
{
    return memmem(f->bytes + f->lines[line - 1], f->lines[line] - f->lines[line - 1],
                  "\"hash\":", 7);
}

static size_t told_line(const struct file *f, size_t line)
{
    while (line > 1 && (!has_hash(f, line) || !has_hash(f, line - 1)))
        line--;
    return line;
}

static void damage_lines(size_t i)
{
    struct file *f = &files[i];
    for (size_t k = 0; k < f->n_lines; k++) {
        size_t from = f->lines[k];
        size_t to = f->lines[k + 1];
        size_t line = told_line(f, k + 1);
        struct str text = {f->bytes + from, to - from};
        damage(i, from, to, (struct str){"", 0}, line, "removal");
        damage(i, to, to, text, line, "repetition");
        damage(i, from, f->n, (struct str){"", 0}, line, "truncation");
        damage(i, from, from, STR("{}\n"), line, "insertion");
        if (k + 1 < f->n_lines) {
            BUF_AT_END struct buf swapped = BUF_INIT(1 << 20);
            buf_add(&swapped, f->bytes + to, f->lines[k + 2] - to);
            buf_add(&swapped, text.p, text.n);
            damage(i, from, f->lines[k + 2], buf_str(&swapped), line, "swap");
        }
    }
    restore(i);
}

static void damage_bytes(size_t i, unsigned rounds)
{
    struct file *f = &files[i];
    for (unsigned k = 0; k < rounds; k++) {
        size_t at = random_below(f->n);
        char other = (char)(f->bytes[at] ^ (1 + (int)random_below(255)));
        size_t line = told_line(f, line_at(f, at));
        damage(i, at, at + 1, (struct str){&other, 1}, line, "change");
        damage(i, at, f->n, (struct str){"", 0}, line, "truncation");
        damage(i, at, at + 1, (struct str){"", 0}, line, "loss");
        damage(i, at, at, STR("\n"), line_at(f, at) > 1 ? line - (f->lines[line - 1] == at) : line,
               "newline");
    }
    restore(i);
}

static void damage_file(size_t i)
{
    FREE_AT_END char *path = mem_format("audit/%s", files[i].name);
    assert_int_equal(unlink(path), 0);
    must_find(i, 0, "removal of the file");
    put_file(files[i].name, "", 0);
    must_find(i, 0, "emptying");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    must_find(i, 0, "a link instead");
    assert_int_equal(unlink(path), 0);
    restore(i);
}

static void any_damage_is_found(void **state)
{
    (void)state;
    make_log();
    const struct findings *found = log_is_whole();
    assert_int_equal(found->report.gates, 9);
    assert_int_equal(found->report.slots, 2);
    assert_int_equal(found->report.torn, 2);
    assert_true(found->report.files >= 6);
    assert_int_equal(found->report.notes, 0);
    remember();
    for (size_t i = 0; i < n_files; i++) {
        damage_lines(i);
        damage_bytes(i, random_rounds(60));
        damage_file(i);
    }
    log_is_whole();
    forget();
}

/* Every byte of one record, each changed in one bit. */
static void every_byte_counts(void **state)
{
    (void)state;
    struct audit *audit = log_gate(&LARGE);
    log_calls(audit, 1);
    log_close(audit);
    remember();
    for (size_t at = 0; at < files[0].n; at++) {
        char other = (char)(files[0].bytes[at] ^ (1 << random_below(7)));
        damage(0, at, at + 1, (struct str){&other, 1}, line_at(&files[0], at), "change");
    }
    forget();
}

static void copies_are_found(void **state)
{
    (void)state;
    make_log();
    remember();
    put_file("007.jsonl", files[n_files - 1].bytes, files[n_files - 1].n);
    assert_true(log_verify((struct str){0})->n > 0);
    assert_int_equal(unlink("audit/007.jsonl"), 0);
    log_is_whole();
    assert_int_equal(rename("state.db", "elsewhere.db"), 0);
    assert_true(log_verify((struct str){0})->n > 0);
    forget();
}

/* --- gates that are killed */

/* What is written is verified hundreds of times, and verifying follows a writer that does not rest. Without an end to
 * both, the log has tens of megabytes and each look at it takes a second. */
#define WRITES_MOST 1000
#define KILLS_A_LOG 25

static void write_until_killed(const struct audit_options *options)
{
    struct audit *audit = log_gate(options);
    for (int i = 0; i < WRITES_MOST || random_is_soak(); i++) {
        log_put(audit, "call.intent", i % 4000);
        if (i >= 3)
            log_put(audit, "call.outcome", (i - 3) % 4000);
        log_flush(audit);
    }
    for (;;)
        pause();
}

static const struct audit_options KILLED[] = {
    {.sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 20000, .max_files = 30},
    {.sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 3000, .max_files = 5},
    {.sync = AUDIT_SYNC_BATCH, .batch_ms = 1, .max_bytes = 50000, .max_files = 20},
};

static void begin_anew(void)
{
    struct err err;
    struct db *db = NULL;
    assert_int_equal(system("rm -rf audit state.db*"), 0);
    assert_int_equal(db_open(&db, folder_fd, false, &err), 0);
    db_close(db);
}

static void a_kill_is_no_damage(void **state)
{
    (void)state;
    uint64_t torn = 0;
    for (unsigned round = 0; round < random_rounds(200); round++) {
        pid_t children[2];
        if (round % KILLS_A_LOG == 0)
            begin_anew();
        for (size_t i = 0; i < 1 + round % 2; i++) {
            children[i] = log_fork();
            if (children[i] == 0)
                write_until_killed(&KILLED[random_below(ARRAY_LEN(KILLED))]);
            random_next();
        }
        usleep((useconds_t)random_below(8000));
        for (int i = 0; round % 8 == 0 && i < 20; i++)
            log_is_whole();
        for (size_t i = 0; i < 1 + round % 2; i++) {
            kill(children[i], SIGKILL);
            log_wait(children[i], SIGKILL);
        }
        log_is_whole();
        if (round % 3 == 0) {
            log_close(log_gate(&KILLED[0]));
            torn = log_is_whole()->report.torn;
        }
    }
    printf("# %llu lines were cut in the last log\n", (unsigned long long)torn);
}

/* What a killed gate wrote up to its head cannot be taken away before it is recovered, nor by its recovery. */
static void recovery_hides_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        dies(&LARGE, 6, "");
        remember();
        struct file *f = &files[n_files - 1];
        if (i == 0) {
            assert_int_equal(truncate("audit/000.jsonl", (off_t)f->lines[f->n_lines - 8]), 0);
        } else {
            f->bytes[f->lines[f->n_lines - 8] + 40] ^= 1;
            restore(n_files - 1);
        }
        assert_true(log_verify((struct str){0})->n > 0);
        for (int k = 0; k < 3; k++) {
            log_close(log_gate(&LARGE));
            assert_true(log_verify((struct str){0})->n > 0);
        }
        forget();
        assert_int_equal(system("rm -rf audit state.db*"), 0);
    }
}

static bool is_told(const char *word)
{
    const struct findings *found = log_verify((struct str){0});
    for (size_t i = 0; i < found->n; i++) {
        if (strstr(found->bad[i].text, word))
            return true;
    }
    return false;
}

static void run_gate(void)
{
    struct audit *audit = log_gate(&LARGE);
    log_calls(audit, 2);
    log_close(audit);
}

/* Whatever later gates write. Without the row that says so, the chain still does. */
static void a_removed_database_is_told_for_good(void **state)
{
    (void)state;
    struct err err;
    struct db *db = NULL;
    run_gate();
    log_is_whole();
    assert_int_equal(system("rm -f state.db*"), 0);
    for (int i = 0; i < 3; i++) {
        run_gate();
        assert_true(is_told("made anew"));
        assert_true(is_told("did not know the gate before"));
    }
    assert_int_equal(db_open(&db, folder_fd, false, &err), 0);
    assert_int_equal(
        db_step(db_statement(db, "DELETE FROM audit_head WHERE slot = '" DB_MADE_LATE "'")),
        SQLITE_DONE);
    db_close(db);
    run_gate();
    assert_false(is_told("made anew"));
    assert_true(is_told("did not know the gate before"));
}

/* A database that was there before the last gates were. */
static void an_older_database_is_told_for_good(void **state)
{
    (void)state;
    run_gate();
    assert_int_equal(system("mkdir older && cp state.db* older"), 0);
    run_gate();
    run_gate();
    log_is_whole();
    assert_int_equal(system("rm state.db* && cp older/* ."), 0);
    assert_true(is_told("does not know this gate"));
    for (int i = 0; i < 3; i++) {
        run_gate();
        assert_true(is_told("did not know the gate before"));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, log_set_up, log_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_damage_is_found),
        TEST(every_byte_counts),
        TEST(copies_are_found),
        TEST(a_kill_is_no_damage),
        TEST(recovery_hides_nothing),
        TEST(a_removed_database_is_told_for_good),
        TEST(an_older_database_is_told_for_good),
    };
    return cmocka_run_group_tests_name("audit_verify", tests, NULL, NULL);
}
