/* Records as long as they may be: written, rotated, recovered behind a gate that died, read and verified. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit_log.h"
#include "store/audit_read.h"

/* What stands around the text in log_long's records. */
#define AROUND 300

static const struct audit_options ONE_FILE = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 1 << 30};
static const struct audit_options MANY_FILES = {
    .sync = AUDIT_SYNC_NONE, .batch_ms = 1, .max_bytes = 3 << 20};

static void log_long(struct audit *audit, const char *kind, int call, size_t n)
{
    char id[16];
    FREE_AT_END char *text = mem_zero(n + 1);
    memset(text, 'a' + call % 26, n);
    snprintf(id, sizeof id, "c%d", call);
    struct json_out *j = audit_begin(audit, kind, id);
    jo_ktext(j, "tool", "run");
    jo_kstr(j, "text", (struct str){text, n});
    audit_end(audit);
    log_flush(audit);
}

/* Leaves one call open and, where `torn`, half of a long line. */
static void dies(const struct audit_options *options, size_t n, bool torn)
{
    pid_t child = log_fork();
    if (child == 0) {
        struct audit *audit = log_gate(options);
        for (int i = 0; i < 6; i++) {
            log_long(audit, "call.intent", i, n);
            log_long(audit, "call.outcome", i, n);
        }
        log_long(audit, "call.intent", 6, n);
        log_noted(audit, "000.jsonl");
        _exit(0);
    }
    log_wait(child, 0);
    FILE *file = fopen("audit/000.jsonl", "ae");
    assert_non_null(file);
    for (size_t i = 0; torn && i < n / 2; i++)
        fputc(i ? 'x' : '{', file);
    fclose(file);
}

struct seen {
    int long_ones;
    int interrupted;
    uint64_t damaged;
};

static struct seen read_all(size_t n, uint64_t window)
{
    struct err err;
    struct seen seen = {0};
    struct audit_entry entry;
    struct audit_reader *reader = NULL;
    const struct audit_read_options options = {INT64_MIN, window};
    assert_int_equal(audit_reader_new(&reader, folder_fd, &options, &err), 0);
    while (audit_reader_next(reader, &entry)) {
        seen.long_ones += yyjson_get_len(yyjson_obj_get(entry.record, "text")) == n;
        seen.interrupted += yyjson_equals_str(yyjson_obj_get(entry.record, "kind"),
                                              "call.interrupted");
    }
    seen.damaged = audit_reader_gaps(reader)->damaged;
    audit_reader_free(reader);
    return seen;
}

static void check_log(const struct audit_options *options, size_t n, bool torn)
{
    dies(options, n, torn);
    log_close(log_gate(options));
    log_is_whole();
    struct seen all = read_all(n, 0);
    assert_int_equal(all.long_ones, 13);
    assert_int_equal(all.interrupted, 1);
    assert_int_equal(all.damaged, torn);
    /* Of the end alone, as `--last` reads it. */
    struct seen last = read_all(n, n / 2 + AROUND);
    assert_true(last.long_ones < 13 && last.damaged <= 1);
    assert_int_equal(last.interrupted, 1);
    assert_int_equal(read_all(n, 100 * n).long_ones, 13);
}

static const size_t longest = AUDIT_RECORD_MAX - AROUND;

static void of_one_file(void **state)
{
    (void)state;
    check_log(&ONE_FILE, longest, false);
}

static void of_many_files(void **state)
{
    (void)state;
    check_log(&MANY_FILES, longest, false);
}

static void with_half_a_line(void **state)
{
    (void)state;
    check_log(&ONE_FILE, longest, true);
}

static void of_a_usual_length(void **state)
{
    (void)state;
    check_log(&MANY_FILES, 64 << 10, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, log_set_up, log_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_one_file),
        TEST(of_many_files),
        TEST(with_half_a_line),
        TEST(of_a_usual_length),
    };
    return cmocka_run_group_tests_name("audit_long", tests, NULL, NULL);
}
