/* What passes to a terminal, whole and in pieces. */
#include <cmocka.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "random.h"

static char *filter(struct str text, size_t split)
{
    struct terminal terminal = {0};
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    terminal_filter(&terminal, (struct str){text.p, split}, &out);
    terminal_filter(&terminal, (struct str){text.p + split, text.n - split}, &out);
    return mem_copy(buf_str(&out).p, out.len);
}

/* At every place where it can be cut. */
static void check_each_split(const char *text, const char *expected)
{
    struct str all = {text, strlen(text)};
    for (size_t split = 0; split <= all.n; split++) {
        FREE_AT_END char *got = filter(all, split);
        if (strcmp(got, expected) != 0)
            fail_msg("%s, cut at %zu, is %s", text, split, got);
    }
    struct terminal terminal = {0};
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    for (size_t i = 0; i < all.n; i++)
        terminal_filter(&terminal, (struct str){text + i, 1}, &out);
    assert_string_equal(buf_text(&out) ? buf_text(&out) : "", expected);
}

static void drawing_passes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "plain text\r\n\ttab\b\a\v\f",
        "\x1b[31mred\x1b[0m \x1b[1;38;5;200mx\x1b[m \x1b[38:2:1:2:3mrgb",
        "\x1b[2J\x1b[H\x1b[10;20H\x1b[A\x1b[3B\x1b[K\x1b[1K\x1b[2L\x1b[M\x1b[4P\x1b[@\x1b[5X\x1b[3S\x1b[T",
        "\x1b[s\x1b[u\x1b"
        "7\x1b"
        "8\x1b[1;24r\x1b[d\x1b[G\x1b[?J\x1bM\x1b"
        "D\x1b"
        "E\x1bH\x1b[3g",
        "\x1b[?25l\x1b[?25h\x1b[?1049h\x1b[?1049l\x1b[?7l\x1b[?25;7h\x1b[4h\x1b[4l\x1b[2 q",
        "\x1b(0lqk\x1b(B\x1b)0",
        "caf\xc3\xa9 \xe2\x9b\x84 \xf0\x9f\x98\x80 \xe2\x9d\xb1 \xc5\x9b \xd2\x90",
        "lone \xe9 byte \xff",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check_each_split(texts[i], texts[i]);
}

static void all_else_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"a\x1b]52;c;c2VjcmV0\x07z", "az"},
        {"a\x1b]52;c;c2VjcmV0\x1b\\z", "az"},
        {"a\x1b]0;title\xc2\x9cz", "az"},
        {"a\x9d"
         "52;c;x\x9cz",
         "az"},
        {"a\xc2\x9d"
         "52;c;x\x07z",
         "az"},
        {"a\x1b]8;;http://h/\x07link\x1b]8;;\x07z", "alinkz"},
        {"a\x1bP$qm\x1b\\z", "az"},
        {"a\x1bPx\x07y\x1b\\z", "az"},
        {"a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\z", "abcz"},
        {"a\x1bktitle\x1b\\z", "atitlez"},
        {"a\x1b[c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1b[x\x1bZ\x05z", "az"},
        {"a\x1b[18t\x1b[21t\x1b[22;0t\x1b[8;1;1tz", "az"},
        {"a\x1b[5i\x1b[4i\x1b[>q\x1b[?1$p\x1b[>4;2m\x1b[?u\x1b[>1u\x1b[1;1'z\x1b[1*yz", "az"},
        {"a\x1b[?1000h\x1b[?1004h\x1b[?2004l\x1b[?1h\x1b[?25;1000h\x1b[2h\x1b[hz", "az"},
        {"a\x1b"
         "c\x1b[!p\x1b#8\x1b%@\x1b F\x1b=\x1b>\x1b(<\x1bnz",
         "az"},
        {"a\x0e\x0f\x01\x10\x11\x13z", "az"},
        {"a\x9b"
         "6nz\xc2\x9b"
         "6nz",
         "azz"},
        {"a\xc2\x9b"
         "31mz",
         "a\x1b[31mz"},
        {"a\xc0\x9b"
         "6nz",
         "a\xc0z"},
        {"a\xe0\x82\x9b"
         "6nz",
         "a\xe0z"},
        {"a\x1b[6\x1b[31mz", "a\x1b[31mz"},
        {"a\x1b[6\x18nz", "anz"},
        {"a\x1b]0;t\x18z", "az"},
        {"a\x1b[3\n1mz", "a\n\x1b[31mz"},
        {"a\x1b]0;t\x1b[31mz", "a\x1b[31mz"},
        {"a\x1b\x1b]52;c;x\x07z", "az"},
        {"a\x1b[\xc3\xa9mz", "a\xc3\xa9mz"},
        {"a\x1b]52;\xc3\xa9\x07z", "az"},
        {"a\x1b", "a"},
        {"a\x1b[31", "a"},
        {"a\x1b]52;c;x", "a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_each_split(cases[i].text, cases[i].expected);
}

static void a_program_that_is_typed_to_says_how_input_looks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"\x1b[?1h\x1b=\x1b[?1000h\x1b[?1002;1006h\x1b[?1004h\x1b[?2004h\x1b>\x0e\x0f",
         "\x1b[?1h\x1b=\x1b[?1000h\x1b[?1002;1006h\x1b[?1004h\x1b[?2004h\x1b>\x0e\x0f"},
        {"\x1b[6n\x1b[5n\x1b[c\x1b[0c\x1b[>c\x1b[>0c",
         "\x1b[6n\x1b[5n\x1b[c\x1b[0c\x1b[>c\x1b[>0c"},
        {"a\x1b[?6n\x1b[n\x1b[7n\x1b[6;6;1n\x1b[=c\x1b[1c\x1b[?1c\x1b[>1cz", "az"},
        {"a\x1b[?1000$p\x1b[?1005h\x1b[?3h\x1b[>4;2m\x1b[?2004;2h\x1b]52;c;x\x07\x05\x1b[21t\x1b"
         "cz",
         "az"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct terminal terminal = {.typed_to = true};
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        terminal_filter(&terminal, (struct str){cases[i].text, strlen(cases[i].text)}, &out);
        assert_string_equal(buf_text(&out), cases[i].expected);
        assert_true(terminal.passed == (cases[i].expected[0] != 'a'));
    }
}

static void long_sequences_are_left_out(void **state)
{
    (void)state;
    char text[2000] = "\x1b[";
    memset(text + 2, '1', sizeof text - 4);
    memcpy(text + sizeof text - 2, "m", 2);
    FREE_AT_END char *got = filter((struct str){text, strlen(text)}, 7);
    assert_string_equal(got, "");
}

/* Whatever the bytes are and however they come, the same passes, and passes again. */
static void any_bytes(void **state)
{
    (void)state;
    static const char pieces[] =
        "\x1b\x1b\x1b[[]]PX^_?;:0123456789hlmnctqu\\\x07\x18\x9b\x9c\x9d\x90\xc2\xc3\xe2\xe0"
        "az\n ";
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        char text[64];
        struct str all = {text, random_below(sizeof text)};
        for (size_t i = 0; i < all.n; i++)
            text[i] = random_below(20) ? pieces[random_below(sizeof pieces - 1)]
                                       : (char)random_below(256);
        BUF_AT_END struct buf out = BUF_INIT(1024);
        BUF_AT_END struct buf again = BUF_INIT(1024);
        BUF_AT_END struct buf single = BUF_INIT(1024);
        terminal_filter(&(struct terminal){0}, all, &out);
        terminal_filter(&(struct terminal){0}, buf_str(&out), &again);
        struct terminal bytewise = {0};
        for (size_t i = 0; i < all.n; i++)
            terminal_filter(&bytewise, (struct str){text + i, 1}, &single);
        assert_int_equal(out.len, single.len);
        assert_memory_equal(buf_str(&out).p, buf_str(&single).p, out.len);
        assert_true(again.len <= out.len);
        assert_null(out.len ? memmem(out.data, out.len, "\x1b]", 2) : NULL);
        assert_null(out.len ? memmem(out.data, out.len, "\x1bP", 2) : NULL);
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawing_passes),
        cmocka_unit_test(all_else_is_left_out),
        cmocka_unit_test(a_program_that_is_typed_to_says_how_input_looks),
        cmocka_unit_test(long_sequences_are_left_out),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests_name("terminal", tests, set_up, NULL);
}
