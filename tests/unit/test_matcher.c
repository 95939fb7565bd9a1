#include <cmocka.h>
#include <stdio.h>

#include "matcher_pieces.h"
#include "random.h"
#include "slow_matcher.h"
#include "work/finder.h"
#include "work/finder_set.h"

static const struct {
    const char *pattern;
    const char *flags; /* l(iteral) i(gnore case) w(ord) */
    const char *text;
    const char *lines; /* that match, by their digits */
} cases[] = {
    {"b", "", "a\nb\nc\n", "2"},
    {"b", "", "a\nb", "2"},
    {"", "", "a\n\nb", "123"},
    {"x*", "", "a\n\nb\n", "123"},
    {"^$", "", "a\n\nb\n\n", "24"},
    {"^$", "", "a\r\n\r\nb\r\n", "2"},
    {"a$", "", "a\r\nba\r\nab\r\n", "12"},
    {"^b", "", "ab\nb\n", "2"},
    {"a[^x]b", "", "a\nb\na.b\n", "3"},
    {"a\\sb", "", "a\nb\na b\n", "3"},
    {"a\\Wb", "", "a\nb\na-b\n", "3"},
    {"a\\Db", "", "a\r\nb\na:b\n", "3"},
    {"a\\s+b", "", "a \n b\na \t b\n", "3"},
    {"a.b", "", "a\nb\nacb\n", "3"},
    {"(?s)a.b", "", "a\nb\nacb\n", "3"},
    {"(?s)a.*b", "", "a\nb\nacb\n", "3"},
    {"(?x) a  b # a comment", "", "a b\nab\n", "2"},
    {"(?x) a  b # a comment", "w", "abc\nab\n", "2"},
    {"(?-u)\\xff", "", "a\n\xff\n", "2"},
    {"(?i)HELLO", "", "say hello\nno\nHeLLo\n", "13"},
    {"HELLO", "i", "say hello\nno\nHeLLo\n", "13"},
    {"kelvin", "i",
     "\xe2\x84\xaa"
     "elvin\nkelvin\n",
     "12"},
    {"straße", "i", "STRAßE\nSTRASSE\n", "1"},
    {"ärger", "i", "ÄRGER\n", "1"},
    {"a.b", "l", "acb\na.b\n", "2"},
    {"a[b", "l", "a[b\n", "1"},
    {"A(b", "li", "a(B\n", "1"},
    {"foo", "w", "foobar\nfoo bar\n_foo\nfoo-x\nxfoo\n", "24"},
    {"foo", "w", "foo\xc3\xa9\nfoo\n", "2"},
    {"foo|bar", "w", "foobar\nbar\n", "2"},
    {"\\w+_init\\(", "", "x_init(\n_init(\ninit(\n__init(\n", "14"},
    {"[A-Z]+_RESUME", "", "PM_RESUME\n_RESUME\nresume\n", "1"},
    {"\\p{Greek}", "", "alpha\n\xce\xb1\n", "2"},
    {"\\bfoo\\b", "", "foo\nfoox\n", "1"},
    {"colou?r", "", "color\ncolour\ncolouur\n", "12"},
    {"ab*cde", "", "acde\nabbcde\nabde\n", "12"},
    {"abc{0,1}def", "", "abdef\nabcdef\n", "12"},
    {"abc{2}d", "", "abcd\nabccd\n", "2"},
    {"abc+d", "", "abd\nabccd\n", "2"},
    {"one|two|three", "", "one\nfour\nthree\n", "13"},
    {"(one|two)three", "", "onethree\nthree\n", "1"},
    {"\\Aab", "", "xab\nab\nab\n", "23"},
    {"ab\\z", "", "ab\nabx\nab\n", "13"},
    {"a\\r", "", "a\r\na\n", "1"},
    {"a\\r$", "", "a\r\na\n", "1"},
    {"[\\r]", "", "a\r\na\n", "1"},
    {"(a+)+$", "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\naa\n", "2"},
    {"[]a]b", "", "]b\nab\nb\n", "12"},
    {"[^]a]b", "", "]b\nab\nxb\n", "3"},
    {"[[:alpha:]]b", "", "1b\nab\n", "2"},
    {"[a&&[^b]]c", "", "ac\nbc\n", "1"},
    {"\\x41", "", "A\na\n", "1"},
    {"\\x{e4}", "", "\xc3\xa4\n", "1"},
    {"\\.", "", "a\n.\n", "2"},
    {"a\\tb", "", "a\tb\n", "1"},
    {".", "", "\xff\n\na\n", "3"},
    {"\\w+_init\\(|\\w+_exit\\(", "", "a_init(\n_exit(\ninit(\nb_exit(\n_init\n", "14"},
    {"\\w+_(init|exit)\\(", "", "a_init(\na_exi(\nb_exit(\na_initexit(\n", "13"},
    {"\\w+_(?:in(?:it|fo)|exit)", "", "a_init\na_in\na_info\n_exit\nb_exit\n", "135"},
    {"foo|", "", "foo\nbar\n", "12"},
    {"foo|\\w", "", "foo\n-\nx\n", "13"},
    {"(foo|bar)?baz|qux", "", "baz\nfoo\nqux\nfoobaz\n", "134"},
    {"(foo|bar)*baz|qux+", "", "baz\nbar\nqu\nquxx\n", "14"},
    {"(foo|bar)+x|qu{0}x", "", "foox\nbar\nqx\nx\n", "13"},
    {"(foo|bar){0,1}-|nothing", "", "-\nfoo\n", "1"},
    {"(?:foo|bar){2}|baz", "", "foobar\nfoo\nbaz\n", "13"},
    {"(?P<foo>aa|bb)cc|(?<bar>dd)", "", "aacc\nfoo\nbar\ndd\nbbc\n", "14"},
    {"colou?rs?|grey", "", "color\ncolours\ngray\ngrey\ncolo\n", "124"},
    {"[Ff]oo|[Bb]ar", "", "foo\nFoo\nbar\nfOO\nBar\n", "1235"},
    {"[^F]oo|[B-b]ar", "", "foo\nFoo\nCar\ndar\n", "13"},
    {"FOO\\w|\\wBAR", "i", "foo\nfoox\nxbar\nbar\n", "23"},
    {"(?i)foo\\w|\\wbar", "", "FOO\nFoox\nxBAR\nbar\n", "23"},
    {"(?i:foo)\\w|\\wbar", "", "FOOx\nxBAR\nxbar\n", "13"},
    {"(?i)kiss\\w|\\wbus", "", "\xe2\x84\xaaI\xc5\xbfSx\nkis\nabu\xc5\xbf\n", "13"},
    {"\xc3\xa4rger|stra\xc3\x9f"
     "e",
     "i",
     "\xc3\x84RGER\nSTRA\xc3\x9f"
     "E\nstrasse\n",
     "12"},
    {"foo\\b|bar\\b", "", "foox\nfoo\nbar-\nbarx\n", "23"},
    {"foo|bar", "w", "foox\nfoo\nbar-\nxbar\n", "23"},
    {"^foo|bar$", "", "foox\nxfoo\nbarx\nxbar\n", "14"},
    {"\\Afoo|bar\\z", "", "foox\nxfoo\nbarx\nxbar\n", "14"},
    {"foo$|bar$", "", "foo\r\nbar\nfoox\r\n", "12"},
    {"(?x) foo | bar # baz", "", "foo\nbaz\nbar\n", "13"},
    {"a|b|cd", "", "a\nc\ncd\nb\n", "134"},
    {"ab|cd|abc", "", "ab\nabc\nc\ncd\n", "124"},
    {"((((foo))))x|(((((bar)))))", "", "foo\nfoox\nbar\n", "23"},
    {"foo\\x00|bar", "", "foo\nbar\n", "2"},
};

static struct matcher_text text_of(const char *text, size_t n)
{
    return (struct matcher_text){text, n, !(finder_kinds(text, n) & FINDER_HIGH)};
}

static struct matcher_options options_of(const char *pattern, const char *flags)
{
    return (struct matcher_options){{pattern, strlen(pattern)},
                                    strchr(flags, 'l') != NULL,
                                    strchr(flags, 'i') != NULL,
                                    strchr(flags, 'w') != NULL};
}

static void finds_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct matcher_options options = options_of(cases[i].pattern, cases[i].flags);
        struct matcher *m = matcher_new(&options, &err);
        if (!m)
            fail_msg("%s: %s", cases[i].pattern, err.message);
        struct matcher_text text = text_of(cases[i].text, strlen(cases[i].text));
        char got[16] = "";
        size_t from = 0;
        for (struct matcher_line line; matcher_next(m, &text, from, &line); from = line.next) {
            char digit = (char)('1' + finder_count_lines(text.p, line.start));
            strncat(got, &digit, 1);
        }
        if (strcmp(got, cases[i].lines) != 0)
            fail_msg("/%s/%s in \"%s\": lines %s, not %s", cases[i].pattern, cases[i].flags,
                     cases[i].text, got, cases[i].lines);
        matcher_free(m);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *says;
    } wrong[] = {
        {"a\\nb", "within one line"},
        {"a\nb", "within one line"},
        {"\\x0a", "within one line"},
        {"\\x{a}", "within one line"},
        {"(?=a)", "look-around"},
        {"(?!a)", "look-around"},
        {"(?<=a)b", "look-around"},
        {"(?<!a)b", "look-around"},
        {"(a)\\1", "back-references"},
        {"(a", "unclosed group"},
        {"a)", "no `(` before it"},
        {"foo)|(bar", "no `(` before it"},
        {"[a", "unclosed character class"},
        {"*a", "repetition operator missing expression"},
        {"a{2,1}", "invalid repetition count range"},
        {"\\p{Klingon}", "Unicode property not found"},
        {"a\\", "incomplete escape sequence"},
        {".{1,1000}{1,1000}", "too large"},
        {"\\w{5000}", "too large"},
        {"(?P<1a>x)", "invalid capture group character"},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        for (unsigned word = 0; word < 2; word++) {
            struct err err = {.code = ERR_COUNT};
            struct matcher_options options = options_of(wrong[i].pattern, word ? "w" : "");
            assert_null(matcher_new(&options, &err));
            assert_int_equal(err.code, ERR_INVALID_PATTERN);
            if (!strstr(err.message, wrong[i].says))
                fail_msg("%s: %s", wrong[i].pattern, err.message);
        }
    }
}

static void bounds_what_it_compiles(void **state)
{
    (void)state;
    BUF_AT_END struct buf pattern = BUF_INIT(1u << 20);
    struct err err;
    for (unsigned i = 0; i < 2000; i++)
        buf_addf(&pattern, "%sword%u", i ? "|" : "", i * 7919);
    struct matcher_options options = {buf_str(&pattern), false, false, false};
    struct matcher *m = matcher_new(&options, &err);
    assert_non_null(m);
    struct matcher_text text = text_of("x\nword15830081\nword7919\n", 24);
    struct matcher_line line;
    assert_true(matcher_next(m, &text, 0, &line));
    assert_int_equal(line.start, 2);
    matcher_free(m);
    /* Brackets in brackets: more than the engine takes, and as many as it takes. */
    for (unsigned depth = 100; depth <= 100000; depth *= 10) {
        buf_reset(&pattern, 1u << 20);
        for (unsigned i = 0; i < depth; i++)
            buf_add_text(&pattern, "(");
        buf_add_text(&pattern, "a");
        for (unsigned i = 0; i < depth; i++)
            buf_add_text(&pattern, ")");
        options.pattern = buf_str(&pattern);
        m = matcher_new(&options, &err);
        assert_int_equal(m != NULL, depth == 100);
        matcher_free(m);
    }
}

static void gives_spans(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *flags, *line, *spans;
    } rows[] = {
        {"a", "", "banana", "1-2 3-4 5-6 "},
        {"an", "l", "banana", "1-3 3-5 "},
        {"ana", "", "banana", "1-4 "},
        {"AN", "i", "baNana", "1-3 3-5 "},
        {"[a-n]+", "", "banana orange", "0-6 9-13 "},
        {"x*", "", "ax", "0-0 1-2 "},
        {"foo", "w", "foo foox foo", "0-3 9-12 "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err;
        struct matcher_options options = options_of(rows[i].pattern, rows[i].flags);
        struct matcher *m = matcher_new(&options, &err);
        assert_non_null(m);
        struct matcher_text text = text_of(rows[i].line, strlen(rows[i].line));
        struct matcher_line line;
        struct found_span spans[8];
        char got[100] = "";
        assert_true(matcher_next(m, &text, 0, &line));
        size_t n = matcher_spans(m, &text, &line, spans, ARRAY_LEN(spans));
        for (size_t k = 0; k < n; k++)
            sprintf(got + strlen(got), "%u-%u ", spans[k].start, spans[k].end);
        assert_string_equal(got, rows[i].spans);
        assert_int_equal(matcher_spans(m, &text, &line, spans, 1), 1);
        matcher_free(m);
    }
}

static void add_pieces(struct buf *out, const char *const *pieces, size_t count, size_t most)
{
    for (size_t left = random_below(most) + 1; left > 0; left--)
        buf_add_text(out, pieces[random_below(count)]);
}

static const char *const pattern_pieces[] = {
    "a",    "b",           "foo",  "bar",   "_",          "K",      "s",     "\xc3\xa4", ".",
    "*",    "+",           "?",    "{0,2}", "{2}",        "|",      "(",     ")",        "(?:",
    "(?i)", "(?i:",        "^",    "$",     "\\b",        "\\B",    "\\w",   "\\W",      "\\s",
    "\\S",  "\\d",         "\\D",  "[a-f]", "[^a]",       "[^\\s]", "[\\W]", "\\p{L}",   "\\P{L}",
    "\\pN", "[[:space:]]", "\\A",  "\\z",   "(?s)",       "(?x)",   "(?-u)", "(?m)",     "\\.",
    "\\r",  "foobar",      "[]x]", "[^]]",  "\\b{start}",
};
static const char *const text_pieces[] = {
    "a",        "b",      "foo",          "bar", "_",  "K", "k", "S",  "s",
    "\xc3\xa4", "\xff",   "\xe2\x84\xaa", " ",   "\t", "1", "-", "\n", "\n",
    "\r\n",     "foobar", "FOO",          "ab",  "x",  "]", ".",
};

/* Both ways, on texts with and without anything beyond ASCII. */
static void agrees_with_each_line_alone(void **state)
{
    (void)state;
    random_begin();
    unsigned compared = 0;
    for (unsigned i = 0; i < random_rounds(4000); i++) {
        BUF_AT_END struct buf pattern = BUF_INIT(1u << 16);
        struct err err;
        add_pieces(&pattern, pattern_pieces, ARRAY_LEN(pattern_pieces), 6);
        struct matcher_options options = {buf_str(&pattern), random_below(8) == 0,
                                          random_below(4) == 0, random_below(4) == 0};
        struct matcher *m = matcher_new(&options, &err);
        struct slow_matcher slow;
        bool good = slow_matcher_init(&slow, &options);
        if (good && !m && !strstr(err.message, "no `(` before it"))
            fail_msg("/%.*s/: %s", (int)pattern.len, pattern.data, err.message);
        for (unsigned k = 0; m && good && k < 8; k++) {
            BUF_AT_END struct buf text = BUF_INIT(1u << 16);
            add_pieces(&text, text_pieces, ARRAY_LEN(text_pieces), 60);
            struct matcher_text t = {text.data, text.len, false};
            t.ascii = slow_is_ascii(&t);
            size_t line = slow_compare(&slow, m, &t);
            if (line)
                fail_msg("/%.*s/ literal %d ignore_case %d word %d, line %zu of \"%.*s\"",
                         (int)pattern.len, pattern.data, options.literal, options.ignore_case,
                         options.word, line, (int)text.len, text.data);
            compared++;
        }
        if (good)
            slow_matcher_done(&slow);
        matcher_free(m);
    }
    assert_true(compared > 5000);
}

static void add_lines(struct buf *out)
{
    for (size_t left = random_below(80); left > 0; left--) {
        add_pieces(out, choice_lines, ARRAY_LEN(choice_lines), 3);
        buf_add_text(out, random_below(9) ? "\n" : "\r\n");
    }
}

/* Choices, groups and parts that may be missing, over many short lines with parts of what matches. */
static void agrees_on_choices(void **state)
{
    (void)state;
    random_begin();
    unsigned matched = 0;
    for (unsigned i = 0; i < random_rounds(6000); i++) {
        BUF_AT_END struct buf pattern = BUF_INIT(1u << 16);
        BUF_AT_END struct buf lines = BUF_INIT(1u << 16);
        struct err err;
        struct slow_matcher slow;
        struct matcher_line first;
        add_pieces(&pattern, choice_pieces, ARRAY_LEN(choice_pieces), 12);
        struct matcher_options options = {buf_str(&pattern), false, random_below(4) == 0,
                                          random_below(6) == 0};
        struct matcher *m = matcher_new(&options, &err);
        if (m && slow_matcher_init(&slow, &options)) {
            add_lines(&lines);
            struct matcher_text t = {lines.data, lines.len, false};
            t.ascii = slow_is_ascii(&t);
            size_t line = slow_compare(&slow, m, &t);
            if (line)
                fail_msg("/%.*s/ ignore_case %d word %d, line %zu of \"%.*s\"", (int)pattern.len,
                         pattern.data, options.ignore_case, options.word, line, (int)lines.len,
                         lines.data);
            matched += matcher_next(m, &t, 0, &first);
            slow_matcher_done(&slow);
        }
        matcher_free(m);
    }
    assert_true(matched > 500);
}

/* A text that is on every line and matches on few, so that the engine gets the rest. */
static void finds_lines_among_many_in_vain(void **state)
{
    (void)state;
    static const char *const patterns[] = {"foo\\d|bar\\d", "foo\\d", "(?-m)^(foo|bar)\\d"};
    for (size_t k = 0; k < ARRAY_LEN(patterns); k++) {
        for (unsigned at = 0; at < 100; at++) {
            BUF_AT_END struct buf lines = BUF_INIT(1u << 16);
            for (unsigned i = 0; i < 100; i++)
                buf_addf(&lines, "foo%s\n", i == at ? "1" : "-");
            struct err err;
            struct matcher_options options = options_of(patterns[k], "");
            struct matcher *m = matcher_new(&options, &err);
            struct matcher_text text = text_of(lines.data, lines.len);
            struct matcher_line line;
            assert_true(matcher_next(m, &text, 0, &line));
            assert_int_equal(line.start, 5 * at);
            assert_false(matcher_next(m, &text, line.next, &line));
            matcher_free(m);
        }
    }
}

static bool is_text_at(struct str wanted, const char *at, bool fold)
{
    return fold ? strncasecmp(at, wanted.p, wanted.n) == 0 : memcmp(at, wanted.p, wanted.n) == 0;
}

/* The line that has the first of the texts: any place within that text will do. */
static void finds_sets_of_texts_anywhere(void **state)
{
    (void)state;
    random_begin();
    for (unsigned i = 0; i < random_rounds(20000); i++) {
        char text[300];
        struct texts texts;
        struct finder_set set;
        bool fold = random_below(2);
        size_t n = random_below(sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] = "abcABC\n\xe4"[random_below(8)];
        texts_init(&texts);
        for (size_t left = random_below(20) + 2; left > 0; left--) {
            struct texts one;
            char needle[8];
            size_t length = random_below(sizeof needle - 1) + 2;
            for (size_t k = 0; k < length; k++)
                needle[k] = fold ? "abc"[random_below(3)] : "abcABC\xe4"[random_below(7)];
            texts_init(&one);
            texts_restart(&one);
            texts_extend(&one, (struct str){needle, length});
            assert_true(texts_join(&texts, &one));
            texts_done(&one);
        }
        finder_set_init(&set, &texts, fold);
        size_t from = random_below(n + 1);
        size_t first_end = n; /* of the text that ends first */
        for (size_t at = from; at < n; at++) {
            for (struct str wanted = {0}; texts_next(&texts, &wanted);) {
                if (at + wanted.n <= n && at + wanted.n <= first_end &&
                    is_text_at(wanted, text + at, fold))
                    first_end = at + wanted.n - 1;
            }
        }
        size_t got = finder_set_find(&set, text, n, from);
        assert_int_equal(got == n, first_end == n);
        if (got < n) {
            const char *newline = memchr(text + got, '\n', n - got);
            size_t line_end = newline ? (size_t)(newline - text) : n;
            assert_true(got >= from && first_end < line_end);
            assert_false(memchr(text + (got < first_end ? got : first_end), '\n',
                                got < first_end ? first_end - got : got - first_end));
        }
        texts_done(&texts);
    }
}

static void finds_texts_anywhere(void **state)
{
    (void)state;
    random_begin();
    for (unsigned i = 0; i < random_rounds(20000); i++) {
        char text[300];
        char needle[8];
        bool fold = random_below(2);
        size_t n = random_below(sizeof text);
        size_t length = random_below(sizeof needle) + 1;
        for (size_t k = 0; k < n; k++)
            text[k] = "abAB\n"[random_below(5)];
        for (size_t k = 0; k < length; k++)
            needle[k] = fold ? "ab"[random_below(2)] : "abAB"[random_below(4)];
        struct finder finder;
        finder_init(&finder, (struct str){needle, length}, fold);
        size_t from = random_below(n + 1);
        size_t want = from;
        while (want + length <= n && (fold ? strncasecmp(text + want, needle, length)
                                           : memcmp(text + want, needle, length)) != 0)
            want++;
        if (want + length > n)
            want = n;
        assert_int_equal(finder_find(&finder, text, n, from), want);
        size_t newlines = 0;
        for (size_t k = 0; k < n; k++)
            newlines += text[k] == '\n';
        assert_int_equal(finder_count_lines(text, n), newlines);
    }
}

static void knows_what_text_is_made_of(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200; n++) {
        char text[200];
        memset(text, 'a', sizeof text);
        assert_int_equal(finder_kinds(text, n), 0);
        for (size_t at = 0; at < n; at++) {
            text[at] = '\0';
            assert_int_equal(finder_kinds(text, n), FINDER_NUL);
            text[at] = (char)0x80;
            assert_int_equal(finder_kinds(text, n), FINDER_HIGH);
            text[at] = 'a';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_lines),
        cmocka_unit_test(refuses),
        cmocka_unit_test(bounds_what_it_compiles),
        cmocka_unit_test(gives_spans),
        cmocka_unit_test(agrees_with_each_line_alone),
        cmocka_unit_test(agrees_on_choices),
        cmocka_unit_test(finds_lines_among_many_in_vain),
        cmocka_unit_test(finds_texts_anywhere),
        cmocka_unit_test(finds_sets_of_texts_anywhere),
        cmocka_unit_test(knows_what_text_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
