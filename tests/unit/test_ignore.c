/* What one ignore file says of a path, as in gitignore(5). */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "work/ignore.h"
#include "work/ignore_line.h"

struct row {
    const char *rules;
    const char *path; /* a folder with a slash behind it */
    enum ignore_verdict expected;
};

static enum ignore_verdict verdict(const char *rules, const char *path)
{
    struct ignore *ignore = ignore_new((struct str){rules, strlen(rules)});
    if (!ignore)
        return IGNORE_NONE;
    size_t n = strlen(path);
    bool folder = path[n - 1] == '/';
    enum ignore_verdict said = ignore_verdict(ignore, (struct str){path, n - folder}, folder);
    ignore_free(ignore);
    return said;
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum ignore_verdict said = verdict(rows[i].rules, rows[i].path);
        if (said != rows[i].expected)
            fail_msg("`%s` about `%s`: %d, not %d", rows[i].rules, rows[i].path, said,
                     rows[i].expected);
    }
}

#define CHECK(rows) check_rows(rows, ARRAY_LEN(rows))
#define YES IGNORE_DROP
#define NO IGNORE_NONE
#define KEEP IGNORE_KEEP

static void lines(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", "a", NO},
        {"\n\n", "a", NO},
        {"#a", "#a", NO},
        {"\\#a", "#a", YES},
        {" #a", " #a", YES},
        {"!a", "a", KEEP},
        {"\\!a", "!a", YES},
        {"!", "!", NO},
        {"!\\!a", "!a", KEEP},
        {"!!a", "!a", KEEP},
        {"a ", "a", YES},
        {"a   ", "a ", NO},
        {"a\\ ", "a ", YES},
        {"a\\  ", "a ", YES},
        {"a\\ ", "a", NO},
        {" a", " a", YES},
        {" a", "a", NO},
        {"a\t", "a\t", YES},
        {"a\t", "a", NO},
        {"   ", " ", NO},
        {"a\r\nb\r\n", "a", YES},
        {"a \r\nb", "a", YES},
        {"a\r", "a", YES},
        {"a\r\r\n", "a\r", YES},
        {"\xef\xbb\xbf"
         "a\n",
         "a", YES},
        {"\xef\xbb\xbf#a\n", "#a", NO},
        {"a\n\xef\xbb\xbf"
         "b\n",
         "b", NO},
        {"a\nb", "b", YES},
    };
    CHECK(rows);
    struct ignore *ignore = ignore_new((struct str){"a\0b\nc", 5});
    assert_int_equal(ignore_verdict(ignore, STR("a"), false), YES);
    assert_int_equal(ignore_verdict(ignore, STR("c"), false), YES);
    ignore_free(ignore);
}

static void the_last_rule_wins(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*.o\n!a.o", "a.o", KEEP},
        {"*.o\n!a.o", "b.o", YES},
        {"!a.o\n*.o", "a.o", YES},
        {"a\n!a\na", "a", YES},
        {"a\n!a/", "a", YES},
        {"a\n!a/", "a/", KEEP},
        {"/a\n!*", "a", KEEP},
        {"!*\n/a", "a", YES},
        {"[a]\n!a", "a", KEEP},
        {"!a\n[a]", "a", YES},
        {"a*\n!*b", "ab", KEEP},
        {"!*b\na*", "ab", YES},
        {"*.tar.gz\n!*.gz", "x.tar.gz", KEEP},
        {"!*.gz\n*.tar.gz", "x.tar.gz", YES},
    };
    CHECK(rows);
}

static void where_a_rule_counts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a", "a", YES},       {"a", "x/y/a", YES},    {"a", "a/b", NO},    {"a", "ab", NO},
        {"/a", "a", YES},      {"/a", "x/a", NO},      {"a/b", "a/b", YES}, {"a/b", "x/a/b", NO},
        {"/a/b", "a/b", YES},  {"a/", "a/", YES},      {"a/", "a", NO},     {"a/", "x/a/", YES},
        {"/a/", "x/a/", NO},   {"a/b/", "a/b/", YES},  {"a/b/", "a/b", NO}, {"*", "x/y", YES},
        {"/*", "x", YES},      {"/*", "x/y", NO},      {"*/", "x/", YES},   {"*/", "x", NO},
        {"a/*", "a/b", YES},   {"a/*", "a/b/c", NO},   {"*/b", "a/b", YES}, {"*/b", "b", NO},
        {"a*/c", "ab/c", YES}, {"a*/c", "ab/b/c", NO},
    };
    CHECK(rows);
}

static void stars_over_folders(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"**/a", "a", YES},
        {"**/a", "x/y/a", YES},
        {"**/a", "xa", NO},
        {"**/a/", "x/a/", YES},
        {"/**/a", "x/a", YES},
        {"**/a/b", "x/a/b", YES},
        {"**/a/b", "a/b", YES},
        {"**/a/b", "a/x/b", NO},
        {"a/**", "a/b", YES},
        {"a/**", "a/b/c", YES},
        {"a/**", "a/", NO},
        {"a/**/", "a/b/", YES},
        {"a/**/", "a/b", NO},
        {"a/**/b", "a/b", YES},
        {"a/**/b", "a/x/b", YES},
        {"a/**/b", "a/x/y/b", YES},
        {"a/**/b", "ab", NO},
        {"a/**/b", "a/xb", NO},
        {"**", "a/b", YES},
        {"/**", "a/b", YES},
        {"**/", "a/", YES},
        {"**/", "a", NO},
        {"**/**", "a/b", YES},
        {"a/***/b", "a/x/y/b", YES},
        {"a**b", "axb", YES},
        {"/a/b**", "a/bxy", YES},
        {"/a/b**", "a/b/y", NO},
        {"a/**b", "a/xb", YES},
        {"a/**b", "a/x/b", NO},
        {"a/**\\/b", "a/b", NO},
        {"a/**\\/b", "a/x/b", YES},
        {"a/**/b/**/c", "a/b/c", YES},
        {"a/**/b/**/c", "a/1/b/2/3/c", YES},
        {"a/**/b/**/c", "a/c", NO},
    };
    CHECK(rows);
}

static void characters(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*.o", "x.o", YES},
        {"*.o", ".o", YES},
        {"*.o", "x.oo", NO},
        {"*.tar.gz", "x.tar.gz", YES},
        {"*.tar.gz", "x.gz", NO},
        {"*o", "foo", YES},
        {".*", ".a", YES},
        {".*", "a.b", NO},
        {"a*", "a", YES},
        {"a*b", "axxb", YES},
        {"a*b", "axbx", NO},
        {"*a*", "xay", YES},
        {"?", "a", YES},
        {"?", "ab", NO},
        {"a?b", "a/b", NO},
        {"a/?", "a/b", YES},
        /* A byte, as git has it. */
        {"?", "\xc3\xa9", NO},
        {"??", "\xc3\xa9", YES},
        {"a??b",
         "a\xc3\xa9"
         "b",
         YES},
        {"a?b",
         "a\xc3\xa9"
         "b",
         NO},
        {"a*b",
         "a\xc3\xa9"
         "b",
         YES},
        {"[!a]", "\xc3\xa9", NO},
        {"[!a][!a]", "\xc3\xa9", YES},
        {"[^x]", "\xff", YES},
        {"\xc3\xa9*", "\xc3\xa9x", YES},
        {"\xc3\xa9?", "\xc3\xa9x", YES},
        {"[a-c]", "b", YES},
        {"[a-c]", "d", NO},
        {"[!a-c]", "d", YES},
        {"[^a-c]", "b", NO},
        {"[]a]", "]", YES},
        {"[!]a]", "b", YES},
        {"[a-]", "-", YES},
        {"[\\]]", "]", YES},
        {"[\\a-c]", "b", YES},
        {"[--0]", ".", YES},
        {"[c-a]", "c", YES},
        {"[c-a]", "b", NO},
        {"[b-ax]", "x", YES},
        {"a[/]b", "a/b", NO},
        {"a[!x]b", "a/b", NO},
        {"[[:alpha:]]", "Q", YES},
        {"[[:alpha:]]", "1", NO},
        {"[[:digit:]x]", "x", YES},
        {"[![:digit:]]", "1", NO},
        {"[[:punct:]]", "[", YES},
        {"[[:punct:]]", "a", NO},
        {"[[:space:]]", "\t", YES},
        {"[[:xdigit:]]", "f", YES},
        {"[[:upper:]]", "a", NO},
        {"[[:]", ":", YES},
        {"[[:nope:]]", "n", NO},
        {"[[::]]", ":", NO},
        {"[\xc3\xa9-\xc3\xab]", "\xc3\xaa", NO},
        {"[\xc3\xa9][\xc3\xa9]", "\xc3\xa9", YES},
        {"\\a", "a", YES},
        {"\\*", "*", YES},
        {"\\*", "a", NO},
        {"\\\\", "\\", YES},
        {"a\\*b", "a*b", YES},
        {"{a,b}", "a", NO},
        {"{a,b}", "{a,b}", YES},
        {"{a,b}*", "{a,b}c", YES},
        {"*{", "a{", YES},
        {"[{]*,", "{a,", YES},
    };
    CHECK(rows);
}

static void what_matches_nothing(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"[a", "a", NO},    {"[a", "[a", NO},        {"a[", "a[", NO},    {"[]", "]", NO},
        {"[!]", "!", NO},   {"a\\", "a", NO},        {"a\\", "a\\", NO},  {"/", "a/", NO},
        {"//", "a/", NO},   {"a//b", "a/b", NO},     {"//a", "a", NO},    {"a//", "a/", NO},
        {"./a", "a", NO},   {"a/./b", "a/b", NO},    {"a/../b", "b", NO}, {".", "a", NO},
        {"..", "a", NO},    {"\\/a", "a", NO},       {"a\\/", "a/", NO},  {"**//a", "a", NO},
        {"[a-\\", "a", NO}, {"[[:alpha:]", "a", NO}, {"[a\\", "a", NO},   {"*[", "a[", NO},
        {"!\\", "\\", NO},
    };
    CHECK(rows);
    /* Others in the file still count. */
    assert_int_equal(verdict("[a\nb\n", "b"), YES);
}

static void there_are_bounds(void **state)
{
    (void)state;
    FREE_AT_END char *text = malloc(IGNORE_TEXT_MAX + 100);
    memset(text, 'x', IGNORE_LINE_MAX + 1);
    text[IGNORE_LINE_MAX + 1] = '\0';
    assert_null(ignore_new((struct str){text, IGNORE_LINE_MAX + 1}));
    struct ignore *ignore = ignore_new((struct str){text, IGNORE_LINE_MAX});
    assert_int_equal(ignore_verdict(ignore, (struct str){text, IGNORE_LINE_MAX}, false), YES);
    ignore_free(ignore);
    /* What is cut in the middle does not count. */
    memset(text, '\n', IGNORE_TEXT_MAX + 100);
    memcpy(text, "first", 5);
    memcpy(text + IGNORE_TEXT_MAX - 3, "cutoff", 6);
    ignore = ignore_new((struct str){text, IGNORE_TEXT_MAX + 100});
    assert_int_equal(ignore_verdict(ignore, STR("first"), false), YES);
    assert_int_equal(ignore_verdict(ignore, STR("cut"), false), NO);
    assert_int_equal(ignore_verdict(ignore, STR("cutoff"), false), NO);
    ignore_free(ignore);
    size_t n = 0;
    for (int i = 0; i < IGNORE_RULES_MAX + 10; i++)
        n += (size_t)snprintf(text + n, 20, "%s%d\n", i % 5 ? "n" : "[g]", i);
    ignore = ignore_new((struct str){text, n});
    assert_int_equal(ignore_verdict(ignore, STR("n1"), false), YES);
    assert_int_equal(ignore_verdict(ignore, STR("g5"), false), YES);
    assert_int_equal(ignore_verdict(ignore, STR("g9995"), false), NO);
    assert_int_equal(ignore_verdict(ignore, STR("n2001"), false), YES);
    assert_true(ignore_size(ignore) < (size_t)16 << 20);
    ignore_free(ignore);
}

/* Stars that would take other matchers a life's time. */
static void it_takes_no_time(void **state)
{
    (void)state;
    char path[3000];
    memset(path, 'a', sizeof path);
    for (size_t i = 50; i < sizeof path - 1; i += 50)
        path[i] = '/';
    static const char rules[] = "**/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b/**/a/**/a*a*a*a*a*a*c\n"
                                "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n";
    struct ignore *ignore = ignore_new((struct str){rules, sizeof rules - 1});
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ignore_verdict(ignore, (struct str){path, sizeof path}, false), NO);
    ignore_free(ignore);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(the_last_rule_wins),
        cmocka_unit_test(where_a_rule_counts),
        cmocka_unit_test(stars_over_folders),
        cmocka_unit_test(characters),
        cmocka_unit_test(what_matches_nothing),
        cmocka_unit_test(there_are_bounds),
        cmocka_unit_test(it_takes_no_time),
    };
    return cmocka_run_group_tests_name("ignore", tests, NULL, NULL);
}
