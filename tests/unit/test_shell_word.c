/* Words that are written for a shell, read back by the real one. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shell_word.h"
#include "base/shown.h"
#include "random.h"

#define WORDS_MAX ((size_t)8 << 20)

static void check_word(struct str word, const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(WORDS_MAX);
    shell_word(word, &out);
    assert_string_equal(buf_text(&out), expected);
}
#define WORD(text, expected) check_word(STR(text), expected)

static void what_is_plain_stays(void **state)
{
    (void)state;
    WORD("git", "git");
    WORD("--name=a/b.c:12,%x", "--name=a/b.c:12,%x");
    WORD("", "''");
    WORD("a b", "'a b'");
    WORD("it's", "'it'\\''s'");
    WORD("a\\n$x`y`!", "'a\\n$x`y`!'");
    WORD("~", "'~'");
}

static void what_acts_on_a_terminal_is_escaped(void **state)
{
    (void)state;
    WORD("a\nb", "$'a\\nb'");
    WORD("it's\t\\", "$'it\\'s\\t\\\\'");
    WORD("\x1b]0;x\x07", "$'\\e]0;x\\x07'");
    WORD("\xff"
         "1",
         "$'\\xff1'");
    WORD("a\xe2\x80\xae"
         "b",
         "$'a\\xe2\\x80\\xaeb'");
    WORD("a            b", "$'a \\x20\\x20\\x20\\x20\\x20\\x20\\x20\\x20\\x20\\x20\\x20b'");
}

static void a_program_is_no_assignment_and_no_keyword(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"git", "git"}, {"A=b", "'A=b'"}, {"if", "'if'"}, {"time", "'time'"}, {"./a-b", "./a-b"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        BUF_AT_END struct buf out = BUF_INIT(WORDS_MAX);
        shell_program((struct str){rows[i][0], strlen(rows[i][0])}, &out);
        assert_string_equal(buf_text(&out), rows[i][1]);
    }
}

/* What `bash` printed for a script in a file, whose words it wrote with a NUL behind each. */
static void read_back(struct buf *script, struct buf *ret)
{
    char path[] = "/tmp/test-shell-word-XXXXXX";
    char command[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script->data, script->len), (ssize_t)script->len);
    close(fd);
    snprintf(command, sizeof command, "LC_ALL=C.UTF-8 bash %s", path);
    FILE *bash = popen(command, "re");
    assert_non_null(bash);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, bash)) > 0;)
        buf_add(ret, block, n);
    assert_int_equal(pclose(bash), 0);
    unlink(path);
}

static void make_word(struct buf *out)
{
    static const char *const pieces[] = {
        "\n",       "\r",       "\t",    "\x1b[31m",  "'",    "\"",   "\\",
        "\\n",      "$x",       "$(id)", "`id`",      "!!",   "*",    "?",
        "[a]",      "{a,b}",    "~",     "#",         ";",    "&&",   "|",
        ">",        "<",        " ",     "         ", "\xff", "\xc3", "\xe2\x80\xae",
        "\xc2\xa0", "\xcc\x81", "a",     "7",         "=",    "-",    "x41"};
    for (uint64_t i = random_below(7); i > 0; i--) {
        if (random_below(4) == 0)
            buf_add_char(out, (char)(1 + random_below(255)));
        else
            buf_add_text(out, pieces[random_below(ARRAY_LEN(pieces))]);
    }
}

static void bash_reads_back_what_was_written(void **state)
{
    (void)state;
    BUF_AT_END struct buf expected = BUF_INIT(WORDS_MAX);
    BUF_AT_END struct buf script = BUF_INIT(WORDS_MAX);
    BUF_AT_END struct buf found = BUF_INIT(WORDS_MAX);
    random_begin();
    for (int line = 0; line < 400; line++) {
        buf_add_text(&script, "printf '%s\\0'");
        for (int i = 0; i < 8; i++) {
            BUF_AT_END struct buf word = BUF_INIT(4096);
            make_word(&word);
            buf_add_char(&script, ' ');
            size_t from = script.len;
            shell_word(buf_str(&word), &script);
            assert_true(shown_is_fit((struct str){script.data + from, script.len - from}, false));
            buf_add(&expected, word.data ? word.data : "", word.len);
            buf_add_char(&expected, '\0');
        }
        buf_add_char(&script, '\n');
    }
    read_back(&script, &found);
    assert_int_equal(found.len, expected.len);
    assert_memory_equal(found.data, expected.data, expected.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_plain_stays),
        cmocka_unit_test(what_acts_on_a_terminal_is_escaped),
        cmocka_unit_test(a_program_is_no_assignment_and_no_keyword),
        cmocka_unit_test(bash_reads_back_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
