/* A person who reads the log while gates write it: every record once, in the order of time. */
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "folder.h"
#include "store/audit_read.h"

static void append(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

/* A record with this time, in milliseconds, as its number. */
static void put(const char *path, int ms)
{
    char ts[CLOCK_TEXT_MAX];
    char line[256];
    clock_format_utc(1714564800000 + ms, ts);
    snprintf(line, sizeof line,
             "{\"ts\":\"%s\",\"seq\":%d,\"kind\":\"call.intent\",\"call\":\"c%d\"}\n", ts, ms, ms);
    append(path, line);
}

static struct audit_reader *open_reader(int64_t from_ms, uint64_t window)
{
    struct audit_reader *reader = NULL;
    struct err err;
    struct audit_read_options options = {from_ms, window};
    if (audit_reader_new(&reader, folder_fd, &options, &err) < 0)
        fail_msg("%s", err.message);
    return reader;
}

/* What there is, as numbers with a space behind each. */
static const char *all(struct audit_reader *reader)
{
    static char seen[8192];
    struct audit_entry entry;
    size_t n = 0;
    seen[0] = '\0';
    while (audit_reader_next(reader, &entry)) {
        assert_int_equal(entry.at_ms,
                         1714564800000 + yyjson_get_sint(yyjson_obj_get(entry.record, "seq")));
        n += (size_t)snprintf(seen + n, sizeof seen - n, "%lld ",
                              (long long)entry.at_ms - 1714564800000);
    }
    return seen;
}

static const char *more(struct audit_reader *reader)
{
    assert_true(audit_reader_wait(reader, 5000, STDIN_FILENO));
    return all(reader);
}

static void several_files_are_one(void **state)
{
    (void)state;
    mkdir("audit", 0700);
    put("audit/000.20240501T110000.000Z.jsonl", 1);
    put("audit/000.20240501T120000.000Z.jsonl", 3);
    put("audit/000.jsonl", 6);
    put("audit/001.jsonl", 2);
    put("audit/001.jsonl", 4);
    put("audit/017.jsonl", 5);
    append("audit/notes.txt", "x\n");
    append("audit/00.jsonl", "x\n");
    struct audit_reader *reader = open_reader(INT64_MIN, 0);
    assert_string_equal(all(reader), "1 2 3 4 5 6 ");
    assert_int_equal(audit_reader_gaps(reader)->damaged, 0);
    audit_reader_free(reader);
    reader = open_reader(1714564800000 + 4, 0);
    assert_string_equal(all(reader), "4 5 6 ");
    audit_reader_free(reader);
}

static void what_comes_is_seen(void **state)
{
    (void)state;
    struct audit_reader *reader = open_reader(INT64_MIN, 0);
    assert_string_equal(all(reader), "");
    mkdir("audit", 0700);
    put("audit/000.jsonl", 1);
    assert_string_equal(more(reader), "1 ");
    put("audit/000.jsonl", 2);
    assert_string_equal(more(reader), "2 ");
    put("audit/001.jsonl", 3);
    assert_string_equal(more(reader), "3 ");
    /* Rotated, and once more before anyone looks. */
    put("audit/000.jsonl", 4);
    assert_int_equal(rename("audit/000.jsonl", "audit/000.20240501T120000.000Z.jsonl"), 0);
    put("audit/000.jsonl", 5);
    assert_int_equal(rename("audit/000.jsonl", "audit/000.20240501T130000.000Z.jsonl"), 0);
    put("audit/000.jsonl", 6);
    assert_string_equal(more(reader), "4 5 6 ");
    put("audit/000.jsonl", 7);
    assert_string_equal(more(reader), "7 ");
    /* Rotated and removed: the next file is still found. */
    put("audit/000.jsonl", 8);
    assert_int_equal(rename("audit/000.jsonl", "audit/gone"), 0);
    put("audit/000.jsonl", 9);
    assert_string_equal(more(reader), "8 9 ");
    assert_int_equal(audit_reader_gaps(reader)->damaged, 0);
    audit_reader_free(reader);
}

static void half_a_line_is_waited_for(void **state)
{
    (void)state;
    mkdir("audit", 0700);
    struct audit_reader *reader = open_reader(INT64_MIN, 0);
    append("audit/000.jsonl", "{\"ts\":\"2024-05-01T12:00:00.001Z\",\"seq\":1,");
    assert_string_equal(all(reader), "");
    append("audit/000.jsonl", "\"kind\":\"x\"}\n");
    assert_string_equal(more(reader), "1 ");
    append("audit/000.jsonl", "{\"ts\":");
    assert_string_equal(more(reader), "");
    assert_int_equal(audit_reader_gaps(reader)->damaged, 0);
    /* Nobody will complete it now. */
    assert_int_equal(rename("audit/000.jsonl", "audit/000.20240501T120000.000Z.jsonl"), 0);
    put("audit/000.jsonl", 2);
    assert_string_equal(more(reader), "2 ");
    assert_int_equal(audit_reader_gaps(reader)->damaged, 1);
    audit_reader_free(reader);
}

static void damaged_lines_are_counted(void **state)
{
    (void)state;
    mkdir("audit", 0700);
    put("audit/000.jsonl", 1);
    append(
        "audit/000.jsonl",
        "\n{}\n[]\nnull\n{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":\"yesterday\",\"kind\":\"x\"}\n\xff\n");
    size_t n = 1u << 20;
    char *lengthy = malloc(n + 2);
    assert_non_null(lengthy);
    memset(lengthy, 'x', n);
    memcpy(lengthy + n, "\n", 2);
    append("audit/000.jsonl", lengthy);
    free(lengthy);
    put("audit/000.jsonl", 2);
    struct audit_reader *reader = open_reader(INT64_MIN, 0);
    assert_string_equal(all(reader), "1 2 ");
    assert_int_equal(audit_reader_gaps(reader)->damaged, 8);
    audit_reader_free(reader);
}

static void a_window_holds_the_end(void **state)
{
    (void)state;
    mkdir("audit", 0700);
    for (int i = 0; i < 100; i++)
        put(i % 10 ? "audit/000.jsonl" : "audit/001.jsonl", i);
    struct audit_reader *reader = open_reader(INT64_MIN, 300);
    const char *seen = all(reader);
    assert_string_equal(seen + strlen(seen) - 9, "97 98 99 ");
    assert_true(audit_reader_complete_from(reader) > 1714564800000 + 90);
    assert_int_equal(audit_reader_gaps(reader)->damaged, 0);
    audit_reader_free(reader);
    reader = open_reader(INT64_MIN, 1u << 20);
    all(reader);
    assert_true(audit_reader_complete_from(reader) == INT64_MIN);
    audit_reader_free(reader);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    mkdir("audit", 0700);
    put("elsewhere", 1);
    assert_int_equal(symlink("../elsewhere", "audit/000.jsonl"), 0);
    assert_int_equal(mkfifo("audit/001.jsonl", 0600), 0);
    struct audit_reader *reader = open_reader(INT64_MIN, 0);
    assert_string_equal(all(reader), "");
    audit_reader_free(reader);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(several_files_are_one),     CASE(what_comes_is_seen),
        CASE(half_a_line_is_waited_for), CASE(damaged_lines_are_counted),
        CASE(a_window_holds_the_end),    CASE(a_link_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
