#include <cmocka.h>

#include "base/utf8.h"
#include "work/edit.h"
#include "work/work.h"

static struct buf out;
static struct err err;

#define EDIT(old, new, every)                                                                      \
    (struct op_edit)                                                                               \
    {                                                                                              \
        STR(old), STR(new), every                                                                  \
    }

static int apply(struct str file, const struct op_edit *edits, size_t n)
{
    buf_reset(&out, 0);
    err = (struct err){.code = ERR_COUNT};
    int r = edit_apply(NULL, file, edits, n, &out, &err);
    if (r == 0)
        assert_int_equal(err.code, ERR_COUNT);
    else
        assert_int_equal(out.len, 0);
    return r;
}

static void expect_all(struct str file, const struct op_edit *edits, size_t n, struct str expected)
{
    if (apply(file, edits, n) < 0)
        fail_msg("%s: %s", err.field, err.message);
    if (out.len != expected.n)
        fail_msg("%zu bytes instead of %zu: %.*s", out.len, expected.n, (int)out.len, out.data);
    assert_memory_equal(buf_str(&out).p, expected.p, expected.n);
}

static void expect_one(struct str file, struct op_edit edit, struct str expected)
{
    expect_all(file, &edit, 1, expected);
}

#define GIVES(file, old, new, expected) expect_one(STR(file), EDIT(old, new, false), STR(expected))
#define GIVES_ALL(file, old, new, expected)                                                        \
    expect_one(STR(file), EDIT(old, new, true), STR(expected))

static void expect_refusal(struct str file, struct op_edit edit, enum err_code code,
                           const char *reason, const char *part)
{
    assert_int_equal(apply(file, &edit, 1), -1);
    assert_string_equal(err_row(err.code)->name, err_row(code)->name);
    assert_string_equal(err.field, "edits[0]");
    assert_string_equal(err.reason, reason);
    assert_true(utf8_valid(err.message, strlen(err.message)));
    if (!strstr(err.message, part))
        fail_msg("`%s` is not in: %s", part, err.message);
}

#define REFUSES(file, old, new, code, reason, part)                                                \
    expect_refusal(STR(file), EDIT(old, new, false), code, reason, part)
#define NOT_FOUND(file, old, part) REFUSES(file, old, "?!", ERR_NO_MATCH, "not_found", part)

static void replaces_what_occurs_once(void **state)
{
    (void)state;
    GIVES("one two three\n", "two", "2", "one 2 three\n");
    GIVES("one two three", "one", "", " two three");
    GIVES("one two three", "three", "3\n", "one two 3\n");
    GIVES("a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n");
    GIVES("a", "a", "b", "b");
    GIVES("x\0y", "\0", "z", "xzy");
    GIVES("\xef\xbb\xbf"
          "first\n",
          "first", "1st",
          "\xef\xbb\xbf"
          "1st\n");
}

/* Half of a line end is not taken from the other half. */
static void a_return_at_the_end_stays_with_its_line(void **state)
{
    (void)state;
    GIVES("a\r\nb\r\n", "a\r", "x", "x\r\nb\r\n");
    GIVES("a\r\nb\r\n", "a\r", "x\r", "x\r\nb\r\n");
    GIVES("a\r\nb\r\n", "a\r", "", "\r\nb\r\n");
    GIVES("a\r\nb\r\n", "a\r\nb\r", "x\ny", "x\r\ny\r\n");
    GIVES("a\r\nb\r\n", "b\r", "x\r\ny", "a\r\nx\r\ny\r\n");
    GIVES_ALL("a\r\na\r\na\r", "a\r", "x", "x\r\nx\r\nx");
    GIVES("a\nb\n", "a", "x\r", "x\nb\n");
    GIVES_ALL("a\na\n", "a", "x\r", "x\nx\n");
    /* Where it is what the edit is for, it is done. */
    GIVES_ALL("a\r\nb\r\n", "\r", "", "a\nb\n");
    GIVES("a\r\n", "a\r", "a", "a\n");
    GIVES("a\n", "a", "a\r", "a\r\n");
    GIVES("a\rb\r", "a\r", "x", "xb\r");
}

static void replaces_all(void **state)
{
    (void)state;
    GIVES_ALL("a-a-a", "a", "bb", "bb-bb-bb");
    GIVES_ALL("aaaaa", "aa", "b", "bba");
    GIVES_ALL("a,b,a", "a", "", ",b,");
    GIVES_ALL("once", "once", "more", "more");
    expect_refusal(STR("abc"), EDIT("x", "y", true), ERR_NO_MATCH, "not_found",
                   "nor does anything");
}

static void applies_edits_in_order(void **state)
{
    (void)state;
    const struct op_edit edits[] = {EDIT("one", "two", false), EDIT("two", "three", true),
                                    EDIT("three\n", "3", false)};
    expect_all(STR("one\n"), edits, 3, STR("3"));
    expect_all(STR("as it is\r\n"), edits, 0, STR("as it is\r\n"));
    const struct op_edit wrong[] = {EDIT("one", "two", false), EDIT("one", "three", false)};
    assert_int_equal(apply(STR("one\n"), wrong, 2), -1);
    assert_string_equal(err.field, "edits[1]");
    assert_non_null(strstr(err.message, "as the edits before it leave it"));
}

static void wants_sensible_edits(void **state)
{
    (void)state;
    REFUSES("abc", "", "x", ERR_INVALID_ARGUMENTS, "", "to insert, give a line");
    REFUSES("abc", "b", "b", ERR_INVALID_ARGUMENTS, "", "the same");
    REFUSES("", "", "", ERR_INVALID_ARGUMENTS, "", "the same");
    static struct op_edit many[EDIT_COUNT_MAX + 1];
    assert_int_equal(apply(STR("abc"), many, EDIT_COUNT_MAX + 1), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    assert_string_equal(err.field, "edits");
}

static void fills_an_empty_file(void **state)
{
    (void)state;
    GIVES("", "", "new\n", "new\n");
    expect_one((struct str){NULL, 0}, (struct op_edit){{NULL, 0}, STR("new"), false}, STR("new"));
    GIVES("\xef\xbb\xbf", "", "new\n", "\xef\xbb\xbfnew\n");
    GIVES("\xff\xfe", "", "n\n", "\xff\xfen\0\n\0");
    expect_refusal((struct str){NULL, 0}, EDIT("a", "b", false), ERR_NO_MATCH, "not_found", "");
}

static void keeps_line_ends(void **state)
{
    (void)state;
    /* Found as it is. */
    GIVES("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n");
    GIVES("a\nb\n", "a\nb", "a\r\nb", "a\r\nb\n");
    /* Otherwise no file comes to have both kinds. */
    GIVES("a\r\nb\r\n", "a\r\nb", "a\nx\nb", "a\r\nx\r\nb\r\n");
    GIVES("a\r\nb\r\n", "a\r\n", "x\ny\n", "x\r\ny\r\nb\r\n");
    GIVES("a\r\nb\r\n", "a\r\nb", "x\r\ny\nz", "x\r\ny\r\nz\r\n");
    GIVES("a\nb\n", "a\n", "x\r\ny\r\n", "x\ny\nb\n");
    GIVES("a\nb\n", "b", "b\r\nc", "a\nb\nc\n");
    GIVES("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n");
    GIVES("a", "a", "a\r\nb\r\n", "a\r\nb\r\n");
    GIVES("a\nb\r\nc\r\n", "a\nb", "x\ny", "x\ny\r\nc\r\n");
    /* Found with other line ends, which what is inserted gets. */
    GIVES("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n");
    GIVES("a\r\nb\nc\n", "a\nb\nc", "x\n", "x\n\n");
    GIVES("a\r\nb\r\nc\nd\n", "a\nb\nc", "1\n2\n3", "1\r\n2\r\n3\nd\n");
    GIVES("1\r\n2\r\n3\r\na\r\nb\nc", "a\nb\nc", "x\ny", "1\r\n2\r\n3\r\nx\r\ny");
    GIVES("a\r\nb\r\n", "a\nb\n", "x\r\ny\n", "x\r\ny\r\n");
    GIVES("a\nb\n", "a\r\nb", "x", "x\n");
    /* No line end in what is replaced: the file's. */
    GIVES("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n");
    GIVES("a\nb\n", "b", "b\nc", "a\nb\nc\n");
    GIVES("a\r\nb\nc\n", "b", "b\nx", "a\r\nb\nx\nc\n");
    GIVES("a\r\nb\r\n", "b", "b\r\nc\nd", "a\r\nb\r\nc\r\nd\r\n");
    GIVES("a", "a", "a\nb", "a\nb");
    GIVES_ALL("a\nb a\r\nb a\r\nb", "a\nb", "x", "x a\r\nb a\r\nb");
    GIVES_ALL("a\r\n\nb a\n\r\nb", "a\n\nb", "x\n", "x\n x\n");
    GIVES_ALL("a\r\n\r\nb a\n\r\nb", "a\n\nb", "x\n", "x\r\n x\r\n");
}

/* A text that begins with a line end takes the whole of it. */
static void leaves_no_lone_return(void **state)
{
    (void)state;
    GIVES("a\r\nb\r\nc", "\nb", "", "a\r\nc");
    GIVES("a\r\nb\r\nc", "\nb\n", " ", "a c");
    GIVES("a\nb\r\n", "\nb", "+", "a+\r\n");
    GIVES_ALL("a\r\nb\r\n", "\n", "\n\n", "a\r\n\r\nb\r\n\r\n");
    GIVES_ALL("a\nb\r\n", "\n", ";", "a;b;");
    GIVES("a\rb\r\r\nc", "\n", "", "a\rb\rc");
}

static void edits_utf16(void **state)
{
    (void)state;
    GIVES("\xff\xfe"
          "a\0b\0c\0",
          "b", "xy",
          "\xff\xfe"
          "a\0x\0y\0c\0");
    GIVES("\xfe\xff\0a\0b\0c", "b", "xy", "\xfe\xff\0a\0x\0y\0c");
    /* Units, not bytes: U+6100 U+6200 holds the bytes of `a` at an odd place. */
    GIVES("\xff\xfe\0\x61\0\x62"
          "a\0",
          "a", "b",
          "\xff\xfe\0\x61\0\x62"
          "b\0");
    NOT_FOUND("\xff\xfe\0\x61\0\x62", "a", "");
    GIVES("\xff\xfe"
          "a\0\r\0\n\0b\0",
          "a\nb", "a\n\xe2\x82\xac",
          "\xff\xfe"
          "a\0\r\0\n\0\xac\x20");
    GIVES("\xff\xfe\xac\x20"
          "x\0",
          "\xe2\x82\xac", "\xf0\x9f\x98\x80",
          "\xff\xfe\x3d\xd8\x00\xde"
          "x\0");
    GIVES("\xfe\xff\xd8\x3d\xde\x00", "\xf0\x9f\x98\x80", "z", "\xfe\xff\0z");
    /* Halves of pairs and half a unit at the end are no text, and stay. */
    GIVES("\xff\xfe\x3d\xd8"
          "a\0\x00\xde\x3d\xd8q",
          "a", "b",
          "\xff\xfe\x3d\xd8"
          "b\0\x00\xde\x3d\xd8q");
    REFUSES("\xff\xfe"
            "a\0",
            "a", "\xff", ERR_INVALID_ARGUMENTS, "", "UTF-16");
}

static void edits_latin1(void **state)
{
    (void)state;
    GIVES("caf\xe9 \xfc\n", "caf\xc3\xa9", "th\xc3\xa9", "th\xe9 \xfc\n");
    GIVES("caf\xe9\r\nx\r\n", "caf\xc3\xa9\nx", "\xc3\xbf\n", "\xff\r\n\r\n");
    REFUSES("caf\xe9", "\xc3\xa9", "\xe2\x82\xac", ERR_INVALID_ARGUMENTS, "not_latin1", "U+20AC");
    /* ASCII next to Latin-1: the file tells what it is. */
    GIVES("caf\xe9 x", "x", "\xc3\xbc", "caf\xe9 \xfc");
    REFUSES("caf\xe9 x", "x", "\xe2\x82\xac", ERR_INVALID_ARGUMENTS, "not_latin1", "U+20AC");
    GIVES("caf\xc3\xa9 x", "x", "\xc3\xbc", "caf\xc3\xa9 \xc3\xbc");
    GIVES("x", "x", "\xc3\xbc", "\xc3\xbc");
    GIVES("\xe9\xe9 \xc3\xa9 x", "x", "\xc3\xbc", "\xe9\xe9 \xc3\xa9 \xfc");
    /* UTF-8 with something broken in it is still UTF-8. */
    GIVES("caf\xc3\xa9 \xff x", "x", "\xc3\xbc", "caf\xc3\xa9 \xff \xc3\xbc");
    GIVES("\xe9 caf\xc3\xa9", "\xc3\xa9", "e", "\xe9 cafe");
    /* Latin-1 is not looked for in UTF-8. */
    NOT_FOUND("caf\xc3\xa9", "\xc3\x83", "");
    /* Bytes that are no text are compared as they are. */
    GIVES("a\xff\xfe"
          "b",
          "\xff\xfe", "\xfd",
          "a\xfd"
          "b");
}

static void wants_one_place(void **state)
{
    (void)state;
    REFUSES("a\nb\na\n", "a", "x", ERR_NO_MATCH, "ambiguous", "2 times, on lines 1, 3;");
    REFUSES("a a\na\n\na a\na", "a", "x", ERR_NO_MATCH, "ambiguous",
            "6 times, on lines 1, 1, 2, 4, 4 and further;");
    GIVES("a\r\nb\r\na\nb", "a\nb\n", "x", "xa\nb");
    REFUSES("a\r\nb\r\na\r\nb", "a\nb", "x", ERR_NO_MATCH, "ambiguous", "on lines 1, 3;");
    REFUSES("}\n}\n}\n", "}\n}\n", "x", ERR_NO_MATCH, "ambiguous", "2 times, on lines 1, 2;");
    char many[3000];
    memset(many, 'z', sizeof many);
    expect_refusal((struct str){many, sizeof many}, EDIT("z", "y", false), ERR_NO_MATCH,
                   "ambiguous", "at least 1000 times");
}

static void names_the_nearest_lines(void **state)
{
    (void)state;
    static const char file[] = "#include <stdio.h>\n\nint main(void)\n{\n\tputs(\"hello\");\n"
                               "\tif (argc > 1)\n\t\treturn 1;\n\treturn 0;\n}\n";
    NOT_FOUND(file, "    puts(\"hello\");\n    if (argc > 1)",
              "lines 5 to 6, where only the indentation differs: tabs there, spaces in old_text:\n"
              "\tputs(\"hello\");\n\tif (argc > 1)");
    NOT_FOUND("  one(1);\n  two(2);\n", "\tone(1);\n\ttwo(2);", "spaces there, tabs in old_text");
    NOT_FOUND("  one(1);\n    two(2);\n", "one(1);\n  two(2);\n",
              "only the indentation differs:\n");
    NOT_FOUND(file, "Puts(\"Hello\")", "line 5, where only upper and lower case differ");
    NOT_FOUND("alpha  \nbeta\n", "alpha\nbeta", "lines 1 to 2, where only blanks at the ends");
    NOT_FOUND(file, "if (argc>1)", "line 6, where only blanks and line breaks differ");
    NOT_FOUND(file, "int main(void)\n{\n\tputs(\"goodbye\");\n",
              "lines 3 to 5, which differ from line 5 on:\nint main(void)\n{\n\tputs(\"hello\");");
    NOT_FOUND(file, "return 42;", "the nearest is line 7:\n\t\treturn 1;");
    NOT_FOUND(file, "Something quite different", "nor does anything like it");
    NOT_FOUND("abc\n", "xy", "nor does anything like it");
    NOT_FOUND("abc\n", "  \n", "nor does anything like it");
    NOT_FOUND("a\0long line\x1b\n", "one long line", "line 1:\na\\x00long line\\x1b");
    NOT_FOUND("un caf\xe9 noir\n", "un cafe noir!", "line 1:\nun caf\xc3\xa9 noir");
    NOT_FOUND("\xff\xfes\0o\0m\0e\0 \0t\0e\0x\0t\0", "some texts",
              "line 1:\n\xef\xbb\xbfsome text");
}

static void cuts_long_texts(void **state)
{
    (void)state;
    char line[4000];
    char wanted[3000];
    for (size_t i = 0; i + 1 < sizeof line; i += 2)
        memcpy(line + i, "\xc3\xa9", 2);
    memcpy(wanted, line, sizeof wanted);
    memcpy(line + 2000, " here is the place ", 19);
    memcpy(wanted + 100, "!", 1);
    struct op_edit edit = {{wanted, sizeof wanted}, STR(""), false};
    expect_refusal((struct str){line, sizeof line}, edit, ERR_NO_MATCH, "not_found", "...");
    assert_in_range(strlen(err.message), 300, 511);
    expect_refusal((struct str){line, sizeof line}, EDIT("Here is a place", "", false),
                   ERR_NO_MATCH, "not_found", "here is the place");
}

static void stays_below_the_ceiling(void **state)
{
    (void)state;
    struct op_edit edit = EDIT("a", "0123456789", true);
    struct str file = STR("aaaaaaaaaa");
    buf_init(&out, 100);
    expect_all(file, &edit, 1,
               STR("01234567890123456789012345678901234567890123456789"
                   "01234567890123456789012345678901234567890123456789"));
    buf_reset(&out, 0);
    out.max = 99;
    assert_int_equal(apply(file, &edit, 1), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_string_equal(err.field, "edits[0]");
    assert_non_null(strstr(err.message, "99 bytes"));
    buf_reset(&out, 0);
    out.max = 7;
    struct op_edit longer = EDIT("a", "abc", false);
    assert_int_equal(apply(STR("\xff\xfe"
                               "a\0"),
                           &longer, 1),
                     -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    buf_reset(&out, 0);
    out.max = 8;
    expect_one(STR("\xff\xfe"
                   "a\0"),
               longer,
               STR("\xff\xfe"
                   "a\0b\0c\0"));
}

static void hears_a_cancel(void **state)
{
    (void)state;
    atomic_bool cancelled = true;
    const struct work work = {.cancelled = &cancelled};
    const struct op_edit edit = EDIT("b", "x", false);
    buf_reset(&out, 0);
    assert_int_equal(edit_apply(&work, STR("abc"), &edit, 1, &out, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_int_equal(out.len, 0);
    atomic_store(&cancelled, false);
    assert_int_equal(edit_apply(&work, STR("abc"), &edit, 1, &out, &err), 0);
    assert_int_equal(out.len, 3);
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&out, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_done(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replaces_what_occurs_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_return_at_the_end_stays_with_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaces_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(applies_edits_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wants_sensible_edits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fills_an_empty_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_line_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_no_lone_return, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edits_utf16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edits_latin1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wants_one_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_the_nearest_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_long_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stays_below_the_ceiling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hears_a_cancel, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("edit", tests, NULL, NULL);
}
