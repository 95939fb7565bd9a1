/* A call that waits, as rows of a terminal. */
#include <cmocka.h>

#include "base/mem.h"
#include "front/approval_text.h"

static const struct approval_style plain = {.width = 60};

static struct approval approval_with(const char *detail)
{
    return (struct approval){.id = "abcdefgh",
                             .summary = "write_file: a (1 bytes)",
                             .rule = "approval.rules[3]",
                             .session = "gate:1",
                             .workspace = "/home/a",
                             .detail = detail};
}

#define HEAD                                                                                       \
    "  what     | write_file: a (1 bytes)\n"                                                       \
    "  why      | approval.rules[3]\n"                                                             \
    "  in       | /home/a\n"

static void check_rows(const char *detail, const struct approval_style *style, const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct approval a = approval_with(detail);
    approval_rows_add(&a, style, 0, 1000, &out);
    FREE_AT_END char *whole = mem_format("%s%s", HEAD, expected);
    assert_string_equal(buf_text(&out), whole);
    size_t n = 0;
    for (const char *c = whole; (c = strchr(c, '\n')); c++)
        n++;
    assert_int_equal(approval_rows_count(&a, style), n);
}

static void test_rows(void **state)
{
    (void)state;
    check_rows("", &plain, "");
    check_rows("-a\n+b\n\n", &plain, "           | -a\n           | +b\n           | \n");
    check_rows("no end", &plain, "           | no end\n");
}

static void test_tabs_are_expanded(void **state)
{
    (void)state;
    check_rows("\ta\n+\tb\n1234567\tc\n12345678\td\n", &plain,
               "           |         a\n"
               "           | +       b\n"
               "           | 1234567 c\n"
               "           | 12345678        d\n");
}

/* The mark tells a row that goes on from a line that looks like it. */
static void test_long_lines_go_on(void **state)
{
    (void)state;
    check_rows("+2345678901234567890123456789012345678901234567-fake\n", &plain,
               "           | +2345678901234567890123456789012345678901234567\n"
               "           > -fake\n");
    check_rows("+23456789012345678901234567890123456789012345\tx\n", &plain,
               "           | +23456789012345678901234567890123456789012345\n"
               "           >    x\n");
    /* What may take two columns. */
    check_rows("日本語日本語日本語日本語日本語日本語日本語日本語\n", &plain,
               "           | 日本語日本語日本語日本語日本語日本語日本語日本\n"
               "           > 語\n");
}

/* Someone else may have written the row of the database. */
static void test_what_is_not_fit_is_made_so(void **state)
{
    (void)state;
    check_rows("a\x1b[2J\rb\n", &plain, "           | a\\e[2J\\rb\n");
}

static void test_colours(void **state)
{
    (void)state;
    const struct approval_style style = {.width = 60, .colours = true};
    check_rows("--- a/x\n@@ -1 +1 @@\n-a\n+b\n c\n    -d\n", &style,
               "           | \x1b[31m--- a/x\x1b[0m\n"
               "           | \x1b[36m@@ -1 +1 @@\x1b[0m\n"
               "           | \x1b[31m-a\x1b[0m\n"
               "           | \x1b[32m+b\x1b[0m\n"
               "           |  c\n"
               "           |     -d\n");
    /* All rows of a line have its colour. */
    check_rows("+2345678901234567890123456789012345678901234567-fake\n", &style,
               "           | \x1b[32m+2345678901234567890123456789012345678901234567\x1b[0m\n"
               "           > \x1b[32m-fake\x1b[0m\n");
}

static void test_part_of_them(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct approval a = approval_with("1\n2\n3\n4\n");
    approval_rows_add(&a, &plain, 4, 2, &out);
    assert_string_equal(buf_text(&out), "           | 2\n           | 3\n");
    approval_rows_add(&a, &plain, 7, 2, &out);
    approval_rows_add(&a, &plain, 0, 0, &out);
    assert_string_equal(buf_text(&out), "           | 2\n           | 3\n");
}

static void test_excerpt(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct approval_seen seen;
    struct approval a = approval_with("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    approval_text_excerpt(&a, &plain, 12, &seen, &out);
    assert_true(seen.total == 12 && seen.head == 12 && seen.tail == 0);
    assert_null(strstr(buf_text(&out), "not shown"));
    buf_reset(&out, 0);
    approval_text_excerpt(&a, &plain, 8, &seen, &out);
    assert_true(seen.total == 12 && seen.head == 6 && seen.tail == 2);
    assert_string_equal(buf_text(&out), HEAD "           | 1\n           | 2\n           | 3\n"
                                             "  (4 lines are not shown here)\n"
                                             "           | 8\n           | 9\n");
}

static void test_why(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct approval a = {.summary = "x", .rule = "approval.default"};
    approval_rows_add(&a, &plain, 1, 1, &out);
    assert_string_equal(buf_text(&out),
                        "  why      | approval.default (no rule matches this call)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_tabs_are_expanded),
        cmocka_unit_test(test_long_lines_go_on),
        cmocka_unit_test(test_what_is_not_fit_is_made_so),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_part_of_them),
        cmocka_unit_test(test_excerpt),
        cmocka_unit_test(test_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
