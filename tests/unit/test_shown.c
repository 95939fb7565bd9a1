#include <cmocka.h>

#include "base/shown.h"
#include "random.h"
#include "read_shown.h"

static void check_line(struct str text, const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    shown_line(text, 1 << 16, &out);
    assert_string_equal(buf_text(&out), expected);
}
#define SHOWN(text, expected) check_line(STR(text), expected)

static void test_what_is_plain_stays(void **state)
{
    (void)state;
    SHOWN("", "");
    SHOWN("git push --force origin 'main' > \"a\"", "git push --force origin 'main' > \"a\"");
    SHOWN("für 日本語 ﬁ 한국 עברית عربى 🙂 ０",
          "für 日本語 ﬁ 한국 עברית عربى 🙂 ０");
    SHOWN("e\xcc\x81 n\xcc\x83", "e\xcc\x81 n\xcc\x83");
}

static void test_what_moves_the_cursor(void **state)
{
    (void)state;
    SHOWN("a\nb\tc\rd\x1b[2Je", "a\\nb\\tc\\rd\\e[2Je");
    SHOWN("a\0b\x07\x08\x7f", "a\\x00b\\x07\\x08\\x7f");
    SHOWN("\x9b"
          "31m\xc2\x9b"
          "31m\xc2\x85",
          "\\x9b31m\\u{9b}31m\\u{85}");
    SHOWN("\xe2\x80\xa8x\xe2\x80\xa9", "\\u{2028}x\\u{2029}");
}

static void test_what_hides(void **state)
{
    (void)state;
    SHOWN("a\xe2\x80\xae"
          "b\xe2\x81\xa6"
          "c\xd8\x9c\xe2\x80\x8e",
          "a\\u{202e}b\\u{2066}c\\u{61c}\\u{200e}");
    SHOWN("rm\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf\xc2\xad-rf",
          "rm\\u{200b}\\u{2060}\\u{feff}\\u{ad}-rf");
    SHOWN("a\xc2\xa0"
          "b\xe2\x80\x83"
          "c\xe3\x80\x80"
          "d\xe3\x85\xa4"
          "e\xe2\xa0\x80",
          "a\\u{a0}b\\u{2003}c\\u{3000}d\\u{3164}e\\u{2800}");
    SHOWN("\xf3\xa0\x81\x81\xef\xb8\x8f\xf3\xa0\x84\x80", "\\u{e0041}\\u{fe0f}\\u{e0100}");
    SHOWN("\xee\x80\x80\xef\xbf\xbe\xef\xb7\x90\xf4\x8f\xbf\xbf",
          "\\u{e000}\\u{fffe}\\u{fdd0}\\u{10ffff}");
}

static void test_what_is_not_utf8(void **state)
{
    (void)state;
    SHOWN("a\xff\xc3(\xed\xa0\x80", "a\\xff\\xc3(\\xed\\xa0\\x80");
    SHOWN("\xc0\xaf\xf4\x90\x80\x80", "\\xc0\\xaf\\xf4\\x90\\x80\\x80");
    SHOWN("x\xe2\x80", "x\\xe2\\x80");
}

/* A backslash of the text is told from ours. */
static void test_nothing_is_imitated(void **state)
{
    (void)state;
    SHOWN("a\\nb", "a\\\\nb");
    SHOWN("\\u{202e} \\[9 bytes left out]", "\\\\u{202e} \\\\[9 bytes left out]");
}

static void test_marks_are_not_stacked(void **state)
{
    (void)state;
    SHOWN("a\xcc\x80\xcc\x81\xcc\x82\xcc\x83", "a\xcc\x80\xcc\x81\\u{302}\\u{303}");
    SHOWN("\xcc\x80 \xcc\x81\n\xcc\x82", "\\u{300} \\u{301}\\n\\u{302}");
}

static void test_runs_of_spaces(void **state)
{
    (void)state;
    SHOWN("ls        -l", "ls        -l");
    SHOWN("ls         ; rm", "ls\\[9 spaces]; rm");
}

static void test_the_middle_is_left_out(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    BUF_AT_END struct buf text = BUF_INIT(1 << 20);
    buf_add_text(&text, "begin ");
    for (int i = 0; i < 50000; i++)
        buf_add_char(&text, i % 3 ? 'x' : '\n');
    buf_add_text(&text, " end");
    shown_line(buf_str(&text), 200, &out);
    struct read_shown back;
    assert_true(read_shown(buf_text(&out), &back) && read_shown_fits(&back, buf_str(&text)));
    assert_in_range(out.len, 150, 200);
    assert_memory_equal(out.data, "begin \\nxx", 10);
    assert_memory_equal(out.data + out.len - 7, "\\nx end", 7);
    assert_non_null(strstr(out.data, " bytes left out]"));
    read_shown_done(&back);
}

static void check_text(struct str text, const char *margin, const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    shown_text(text, margin, &out);
    assert_string_equal(buf_text(&out), expected);
    assert_true(shown_is_fit(buf_str(&out), true));
}
#define SHOWN_TEXT(text, expected) check_text(STR(text), "", expected)

static void test_text(void **state)
{
    (void)state;
    SHOWN_TEXT("", "");
    SHOWN_TEXT("-a\r\n+\tb\x1b[1m\n\n", "-a\\r\n+\tb\\e[1m\n\n");
    SHOWN_TEXT("no end", "no end\n");
    SHOWN_TEXT("\\[2 bytes left out]\n", "\\\\[2 bytes left out]\n");
    SHOWN_TEXT("            indented\n", "            indented\n");
    check_text(STR("a\n\nb"), "    ", "    a\n    \n    b\n");
}

/* Blanks that hide something, or that are hidden. */
static void test_blanks_in_text(void **state)
{
    (void)state;
    SHOWN_TEXT(
        "+a  \n+b \n+c\t \n+  \n \n   \n",
        "+a\\[2 spaces]\n+b\\[1 space]\n+c\\t\\[1 space]\n+\\[2 spaces]\n \n \\[2 spaces]\n");
    SHOWN_TEXT("\t\t\t\t\t\t\t\tx", "\t\t\t\t\t\t\t\tx\n");
    SHOWN_TEXT("\t\t\t\t\t\t\t\t\t\tx", "\\t\\t\t\t\t\t\t\t\t\tx\n");
    SHOWN_TEXT("a                                                                 x",
               "a\\[65 spaces]x\n");
    /* Neither spaces alone nor tabs alone are too many. */
    SHOWN_TEXT("a\t\t\t\t                                        \tx",
               "a\\t\\t\t\t                                        \tx\n");
}

static void test_nothing_of_a_text_is_left_out(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(4 << 20);
    BUF_AT_END struct buf out = BUF_INIT(4 << 20);
    struct read_shown back;
    for (int i = 0; i < 1000000; i++)
        buf_add_char(&text, i < 300000 ? 'x' : i % 7 ? '\t' : '\n');
    shown_text(buf_str(&text), "", &out);
    assert_true(read_shown(buf_text(&out), &back) && !back.cut);
    assert_true(read_shown_fits(&back, buf_str(&text)));
    read_shown_done(&back);
}

static void test_what_is_fit(void **state)
{
    (void)state;
    assert_true(shown_is_fit(STR("run: a\\n b"), false));
    assert_false(shown_is_fit(STR("a\nb"), false));
    assert_true(shown_is_fit(STR("a\nb"), true));
    assert_false(shown_is_fit(STR("a\tb"), false));
    assert_true(shown_is_fit(STR("a\tb"), true));
    assert_false(shown_is_fit(STR("a\x1b[m"), true));
    assert_false(shown_is_fit(STR("a\xe2\x80\xae"), true));
}

/* Every character there is, alone and between others. */
static void test_every_character(void **state)
{
    (void)state;
    for (unsigned long c = 0; c <= 0x10ffff; c++) {
        BUF_AT_END struct buf text = BUF_INIT(64);
        BUF_AT_END struct buf out = BUF_INIT(256);
        struct read_shown back;
        buf_add_char(&text, 'a');
        read_shown_add(&text, c);
        buf_add_char(&text, 'b');
        shown_line(buf_str(&text), 100, &out);
        if (!is_harmless(out.data, out.len) || !read_shown(buf_text(&out), &back) ||
            !read_shown_fits(&back, buf_str(&text)))
            fail_msg("U+%04lx is shown as %s", c, buf_text(&out));
        read_shown_done(&back);
    }
}

static void test_random_texts(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",        "\\", "\n",   "\x1b[", "\xe2\x80\xae",
                                         "\xcc\x81", "  ", "\xff", "日"};
    random_begin();
    for (unsigned i = 0; i < random_rounds(20000); i++) {
        BUF_AT_END struct buf text = BUF_INIT(4096);
        BUF_AT_END struct buf out = BUF_INIT(8192);
        struct read_shown back;
        for (size_t n = random_below(100); n; n--)
            buf_add_text(&text, pieces[random_below(ARRAY_LEN(pieces))]);
        size_t max = SHOWN_MIN + random_below(200);
        shown_line(buf_str(&text), max, &out);
        assert_true(out.len <= max && is_harmless(out.data, out.len));
        assert_true(read_shown(buf_text(&out), &back));
        assert_true(read_shown_fits(&back, buf_str(&text)));
        assert_true(shown_is_fit(buf_str(&out), false));
        read_shown_done(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_plain_stays),
        cmocka_unit_test(test_what_moves_the_cursor),
        cmocka_unit_test(test_what_hides),
        cmocka_unit_test(test_what_is_not_utf8),
        cmocka_unit_test(test_nothing_is_imitated),
        cmocka_unit_test(test_marks_are_not_stacked),
        cmocka_unit_test(test_runs_of_spaces),
        cmocka_unit_test(test_the_middle_is_left_out),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_blanks_in_text),
        cmocka_unit_test(test_nothing_of_a_text_is_left_out),
        cmocka_unit_test(test_what_is_fit),
        cmocka_unit_test(test_every_character),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
