#include <cmocka.h>

#include "apply_diff.h"
#include "work/diff.h"

static void expect(struct str before, struct str after, const char *path, struct str expected)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    assert_false(diff_unified(before, after, path, &out));
    if (out.len != expected.n || (out.len && memcmp(out.data, expected.p, out.len) != 0))
        fail_msg("got:\n%.*s\ninstead of:\n%.*s", (int)out.len, out.data, (int)expected.n,
                 expected.p);
}

#define HEADS "--- a/f\n+++ b/f\n"
#define DIFF(before, after, expected) expect(STR(before), STR(after), "f", STR(HEADS expected))

static void says_nothing_of_equal_texts(void **state)
{
    (void)state;
    expect(STR(""), STR(""), "f", STR(""));
    expect((struct str){NULL, 0}, STR(""), "f", STR(""));
    expect(STR("a\nb"), STR("a\nb"), "f", STR(""));
}

static void shows_changes(void **state)
{
    (void)state;
    DIFF("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n");
    DIFF("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
    DIFF("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n");
    DIFF("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    DIFF("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
         "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    DIFF("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n");
    DIFF("a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\n", "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n-d\n+D\n e\n");
}

static void joins_near_changes_only(void **state)
{
    (void)state;
    DIFF("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
         "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
    DIFF("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
         "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

static void shows_a_missing_last_newline(void **state)
{
    (void)state;
    DIFF("a", "b",
         "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
    DIFF("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    DIFF("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    DIFF("a\nb", "A\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n");
    DIFF("a", "a\nb",
         "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
         "\\ No newline at end of file\n");
}

static void keeps_bytes(void **state)
{
    (void)state;
    DIFF("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
    DIFF("a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n");
    DIFF("\xff\0\n", "\xfe\0\n", "@@ -1 +1 @@\n-\xff\0\n+\xfe\0\n");
}

static void names_odd_paths_as_git_does(void **state)
{
    (void)state;
    expect(STR("a\n"), STR("b\n"), "my file",
           STR("--- a/my file\t\n+++ b/my file\t\n@@ -1 +1 @@\n-a\n+b\n"));
    expect(
        STR("a\n"), STR("b\n"), "x\n\"\\\xc3\xa9",
        STR("--- \"a/x\\012\\042\\134\xc3\xa9\"\n+++ \"b/x\\012\\042\\134\xc3\xa9\"\n@@ -1 +1 @@\n-a\n+b\n"));
}

/* A ceiling anywhere: the diff, or its first lines and one that says so. */
static void cuts_at_a_line(void **state)
{
    (void)state;
    struct str before = STR(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n");
    struct str after = STR("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\n");
    BUF_AT_END struct buf whole = BUF_INIT(1 << 20);
    assert_false(diff_unified(before, after, "f", &whole));
    for (size_t max = 0; max < whole.len + 5; max++) {
        BUF_AT_END struct buf out = BUF_INIT(max);
        assert_int_equal(diff_unified(before, after, "f", &out), max < whole.len);
        assert_in_range(out.len, 0, max);
        assert_false(out.failed);
        if (max >= whole.len || max < 80)
            continue;
        const char *note = memmem(out.data, out.len, "... the diff is longer", 22);
        assert_non_null(note);
        assert_memory_equal(out.data, whole.data, (size_t)(note - out.data));
        assert_true(note == out.data || note[-1] == '\n');
        assert_int_equal(out.data[out.len - 1], '\n');
    }
}

static void adds_behind_what_is_there(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    buf_add_text(&out, "before\n");
    assert_false(diff_unified(STR("a\n"), STR("b\n"), "f", &out));
    assert_memory_equal(out.data, "before\n" HEADS "@@ -1", 7 + strlen(HEADS) + 5);
}

static void fill(struct buf *b, unsigned lines, unsigned kinds, unsigned seed)
{
    for (unsigned i = 0; i < lines; i++) {
        seed = seed * 1664525 + 1013904223;
        buf_addf(b, "%u\n", kinds ? (seed >> 16) % kinds : i * 2 + (seed & 1));
    }
}

/* Where the shortest diff would take too long, there still is one. */
static void gives_up_in_time(void **state)
{
    (void)state;
    static const unsigned shapes[][2] = {{700000, 3}, {100000, 3}, {200000, 0}};
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        BUF_AT_END struct buf before = BUF_INIT(16 << 20);
        BUF_AT_END struct buf after = BUF_INIT(16 << 20);
        BUF_AT_END struct buf out = BUF_INIT(64 << 20);
        BUF_AT_END struct buf made = BUF_INIT(16 << 20);
        fill(&before, shapes[i][0], shapes[i][1], 1);
        fill(&after, shapes[i][0], shapes[i][1], 2);
        assert_false(diff_unified(buf_str(&before), buf_str(&after), "f", &out));
        assert_true(apply_diff(buf_str(&before), buf_str(&out), &made));
        assert_int_equal(made.len, after.len);
        assert_memory_equal(made.data, after.data, after.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_nothing_of_equal_texts),
        cmocka_unit_test(shows_changes),
        cmocka_unit_test(joins_near_changes_only),
        cmocka_unit_test(shows_a_missing_last_newline),
        cmocka_unit_test(keeps_bytes),
        cmocka_unit_test(names_odd_paths_as_git_does),
        cmocka_unit_test(cuts_at_a_line),
        cmocka_unit_test(adds_behind_what_is_there),
        cmocka_unit_test(gives_up_in_time),
    };
    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
