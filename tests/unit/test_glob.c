#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "core/glob_program.h"

static struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

static struct glob *compiled(const char *pattern, bool anywhere)
{
    struct err err = {.code = ERR_COUNT};
    struct glob *glob = glob_compile(text_str(pattern), anywhere, &err);
    if (!glob)
        fail_msg("%s: %s", pattern, err.message);
    assert_int_equal(err.code, ERR_COUNT);
    return glob;
}

struct row {
    const char *pattern;
    const char *path;
    bool matches;
};

/* By the table of states and without it. */
static void check_rows(const struct row *rows, size_t count, bool anywhere)
{
    for (size_t i = 0; i < count; i++) {
        GLOB_AT_END struct glob *glob = compiled(rows[i].pattern, anywhere);
        assert_non_null(glob->table);
        for (int round = 0; round < 2; round++) {
            if (glob_match(glob, text_str(rows[i].path)) != rows[i].matches)
                fail_msg("%s %s %s", rows[i].pattern,
                         rows[i].matches ? "does not match" : "matches", rows[i].path);
            free(TAKE_PTR(glob->table));
        }
    }
}

static void names(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "aa", false},
        {"a", "A", false},
        {"a", "b/a", false},
        {"a", "a/b", false},
        {"a", "", false},
        {"a", "a/", true},
        {"a/b/c.txt", "a/b/c.txt", true},
        {"a/b/c.txt", "a/b/c_txt", false},
        {"a/b", "a", false},
        {"./a", "a", true},
        {"././a/b", "a/b", true},
        {".//a", "a", true},
        {"a//b", "a/b", true},
        {"a/./b", "a/b", true},
        {".a", ".a", true},
        {".a", "a", false},
        {"...", "...", true},
        {"..a/b..", "..a/b..", true},
        {"a b", "a b", true},
        {"~", "~", true},
        {"a,b", "a,b", true},
        {"a]", "a]", true},
        {"-", "-", true},
        {"!a", "!a", true},
        {"#a", "#a", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\?", "?", true},
        {"\\[a]", "[a]", true},
        {"\\{a,b\\}", "{a,b}", true},
        {"\\a", "a", true},
        {"\\\\", "\\", true},
        {"a\\/b", "a/b", true},
        {"\\./a", "a", true},
        {"\xc3\xa4", "\xc3\xa4", true},
        {"\xc3\xa4", "a\xcc\x88", false},
        {"\xff", "\xff", true},
        {"\xff", "\xfe", false},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
}

static void stars_and_question_marks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*", "a", true},
        {"*", "", false},
        {"*", ".hidden", true},
        {"*", "a/b", false},
        {"*.py", "x.py", true},
        {"*.py", ".py", true},
        {"*.py", "x.pyc", false},
        {"*.py", "x.pY", false},
        {"*.py", "py", false},
        {"*.py", "a/x.py", false},
        {"*.py", "x.py.py", true},
        {"a*", "a", true},
        {"a*", "abc", true},
        {"a*", "ba", false},
        {"a*", "a/b", false},
        {"a*b", "ab", true},
        {"a*b", "axxb", true},
        {"a*b", "axbx", false},
        {"a*b", "a/b", false},
        {"*a*", "xax", true},
        {"*a*", "xxx", false},
        {"*a*b*", "xaxbx", true},
        {"*a*b*", "xbxax", false},
        {"*/b", "a/b", true},
        {"*/b", "b", false},
        {"*/b", "a/a/b", false},
        {"*/*", "a/b", true},
        {"*/*", "a", false},
        {"a/*", "a/b", true},
        {"a/*", "a", false},
        {"a/*", "a/b/c", false},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/c", false},
        {".*", ".a", true},
        {".*", "a", false},
        {"***", "abc", true},
        {"***", "a/b", false},
        {"?", "a", true},
        {"?", "ab", false},
        {"?", "", false},
        {"??", "ab", true},
        {"?", "\xc3\xa4", true},
        {"??", "\xc3\xa4", false},
        {"?", "\xf0\x9f\x98\x80", true},
        {"?", "\xff", true},
        {"?", "\xff\xff", false},
        {"??", "\xff\xff", true},
        {"??", "\xc3x", true},
        {"???", "\xe2\x82x", true},
        {"a?b", "a/b", false},
        {"a?c/?", "abc/d", true},
        {"?*", "a", true},
        {"?*?", "a", false},
        {"*\xc3", "x\xc3", true},
        {"*\xa4", "\xc3\xa4", false},
        {"\xc3*", "\xc3\xa4", false},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
}

static void two_stars(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"**", "a", true},
        {"**", "a/b/c", true},
        {"**", "", false},
        {"**/x", "x", true},
        {"**/x", "a/x", true},
        {"**/x", "a/b/x", true},
        {"**/x", "ax", false},
        {"**/x", "a/xx", false},
        {"**/x", "x/a", false},
        {"**/*.ts", "a.ts", true},
        {"**/*.ts", "src/a/b.ts", true},
        {"**/*.ts", "src/a/b.tsx", false},
        {"a/**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**", "a/", false},
        {"a/**", "ab/c", false},
        {"a/**", "b/a/c", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"a/**/b", "ab", false},
        {"a/**/b", "a/b/c", false},
        {"a/**/b/**", "a/b/c", true},
        {"a/**/b/**", "a/b", false},
        {"a/**/b/**", "a/b/b", true},
        {"src/**/*.ts", "src/x.ts", true},
        {"src/**/*.ts", "src/a/b/x.ts", true},
        {"src/**/*.ts", "lib/src/x.ts", false},
        {"**/a/**", "a", false},
        {"**/a/**", "a/b", true},
        {"**/a/**", "x/a/y/z", true},
        {"**/**", "a", true},
        {"**/**/x", "x", true},
        {"a/**/**/b", "a/b", true},
        {"a/**/*", "a/b", true},
        {"a/**/*", "a", false},
        {"a**", "abc", true},
        {"a**", "a/b", false},
        {"**a", "bba", true},
        {"**a", "b/a", false},
        {"a/b**/c", "a/bx/c", true},
        {"a/b**/c", "a/bx/y/c", false},
        {"a**/b", "a/b", true},
        {"a**/b", "ax/y/b", false},
        {"./**/x", "a/x", true},
        {"a/./**", "a/b/c", true},
        {"**/node_modules/**", "a/node_modules/b/c", true},
        {"**/node_modules/**", "a/node_module/b", false},
        {"**/.*", "a/.git", true},
        {"**/\xff", "a/\xff", true},
        {"**/?", "\xff/\xc3\xa4", true},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
}

static void sets(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[abc]", "ab", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a]", "b", true},
        {"[!a]", "a", false},
        {"[^a-c]", "d", true},
        {"[^a-c]", "b", false},
        {"a[!x]b", "a/b", false},
        {"a[/]b", "a/b", false},
        {"a[.-0]b", "a/b", false},
        {"a[.-0]b", "a.b", true},
        {"[]]", "]", true},
        {"[]a]", "a", true},
        {"[!]]", "]", false},
        {"[!]]", "a", true},
        {"[]-a]", "^", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[a-]", "b", false},
        {"[a!]", "!", true},
        {"[a^]", "^", true},
        {"[!!]", "!", false},
        {"[a\\]]", "]", true},
        {"[\\]-a]", "`", true},
        {"[\\\\]", "\\", true},
        {"[*?{,}]", "*", true},
        {"[*?{,}]", ",", true},
        {"[*]", "a", false},
        {"[[]", "[", true},
        {"[[:]", ":", true},
        {"[0-9][0-9]*", "42x", true},
        {"[0-9][0-9]*", "4x", false},
        {"[a-cx-z]", "y", true},
        {"[a-a]", "a", true},
        {"[\xc3\xa4-\xc3\xbc]", "\xc3\xb6", true},
        {"[\xc3\xa4-\xc3\xbc]", "\xc3", false},
        {"[!a]", "\xc3\xa4", true},
        {"[!a]", "\xff", true},
        {"[\x80-\xff]", "\xfe", true},
        {"[\x80-\xff]", "\xc3\xa4", false},
        {"[\xce\xb1-\xcf\x89]*", "\xce\xbbx", true},
        {"*.[ch]", "a.c", true},
        {"*.[ch]", "a.cc", false},
        {"**/[a-m]*/x", "q/b/x", true},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
}

static void braces(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{a,b}", "a", true},
        {"{a,b}", "b", true},
        {"{a,b}", "c", false},
        {"{a,b}", "ab", false},
        {"{a,b}", "a,b", false},
        {"{a}", "a", true},
        {"x{}y", "xy", true},
        {"*.{c,h}", "x.h", true},
        {"*.{c,h}", "x.ch", false},
        {"x{,.bak}", "x", true},
        {"x{,.bak}", "x.bak", true},
        {"x{,.bak}", "x.ba", false},
        {"{,x}a", "a", true},
        {"{a,b{c,d}}e", "bde", true},
        {"{a,b{c,d}}e", "be", false},
        {"{a,b{c,}}e", "be", true},
        {"{{a,b},{c,{d,e}}}", "e", true},
        {"{src,test}/**/*.{ts,tsx}", "test/a/b.tsx", true},
        {"{src,test}/**/*.{ts,tsx}", "lib/a/b.tsx", false},
        {"{a/b,c}/x", "a/b/x", true},
        {"{a/b,c}/x", "c/x", true},
        {"{a/b,c}/x", "a/x", false},
        {"{a/,}x", "x", true},
        {"{a/,}x", "a/x", true},
        {"{**/,}x", "a/b/x", true},
        {"{**/,}x", "x", true},
        {"{a,**}/x", "p/q/x", true},
        {"{a,**}/x", "x", true},
        {"a/{**,b}", "a/x/y", true},
        {"a{**,b}", "axx", true},
        {"a{**,b}", "ax/y", false},
        {"{,a}**/x", "p/q/x", true},
        {"{,a}**/x", "ap/x", true},
        {"{b,a}**/x", "ap/q/x", false},
        {"a/{,b}/c", "a/c", true},
        {"a/{,b}/c", "a/b/c", true},
        {"{.,src}/*.c", "x.c", true},
        {"{.,src}/*.c", "src/x.c", true},
        {"{.,src}/*.c", "lib/x.c", false},
        {".{,git}/x", "x", true},
        {".{,git}/x", ".git/x", true},
        {"{*,b}*", "abc", true},
        {"{[,],a}", ",", true},
        {"{\\,,a}", ",", true},
        {"{\\},a}", "}", true},
        {"{a,b}{c,d}{e,f}", "bcf", true},
        {"{a,b}{c,d}{e,f}", "bce/", true},
        {"{a,b}{c,d}{e,f}", "cbf", false},
        {"{?,\xc3\xa4?}", "\xc3\xa4x", true},
        {"{a,}", "a", true},
        {"{a,}", "", false},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
}

static void anywhere(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*.py", "x.py", true},
        {"*.py", "a/b/x.py", true},
        {"*.py", "a.py/x", false},
        {"build", "a/build", true},
        {"build", "a/rebuild", false},
        {"build/", "a/build", true},
        {"{build/,dist/}", "a/dist", true},
        {"{a,b}", "x/y/b", true},
        {"{,a}", "x/a", true},
        {"{,a}", "x", false},
        {"**", "a/b", true},
        {"a/b", "a/b", true},
        {"a/b", "x/a/b", false},
        {"{a/b,c}", "c", true},
        {"{a/b,c}", "x/c", false},
        {"./a", "a", true},
        {"./a", "x/a", false},
        {"a/**", "x/a/b", false},
        {"[/]a", "x/a", false},
        {".*", "a/.b", true},
        {"?", "a/\xff", true},
    };
    check_rows(rows, ARRAY_LEN(rows), true);
}

struct refused {
    const char *pattern;
    const char *where;
    const char *what;
};

static void what_is_refused(void **state)
{
    (void)state;
    static const struct refused rows[] = {
        {"", "empty", ""},
        {"a\\", "byte 2", "backslash"},
        {"[", "byte 1", "no `]`"},
        {"a[b", "byte 2", "no `]`"},
        {"[]", "byte 1", "no `]`"},
        {"[!]", "byte 1", "no `]`"},
        {"[^", "byte 1", "no `]`"},
        {"[a-", "byte 1", "no `]`"},
        {"[a-\\", "byte 1", "no `]`"},
        {"[\\", "byte 1", "no `]`"},
        {"[\\]", "byte 1", "no `]`"},
        {"{a,[b}", "byte 4", "no `]`"},
        {"x[z-a]", "byte 3", "ends before it begins"},
        {"[\xc3\xbc-\xc3\xa4]", "byte 2", "ends before it begins"},
        {"[[:alpha:]]", "byte 2", "named classes"},
        {"[a[:digit:]]", "byte 3", "named classes"},
        {"{a", "byte 1", "no `}`"},
        {"x{a,{b}", "byte 2", "no `}`"},
        {"{a,b\\}", "byte 1", "no `}`"},
        {"a}", "byte 2", "no `{`"},
        {"{a}}", "byte 4", "no `{`"},
        {"/a", "byte 1", "relative"},
        {"/", "byte 1", "relative"},
        {"\\/a", "byte 2", "relative"},
        {"{/a,b}", "byte 2", "relative"},
        {"{,a}/b", "byte 5", "relative"},
        {"..", "byte 2", "parent"},
        {"../a", "byte 3", "parent"},
        {"a/../b", "byte 5", "parent"},
        {"a/..", "byte 4", "parent"},
        {"./..", "byte 4", "parent"},
        {"a/.{.,b}/c", "byte 9", "parent"},
        {"{a,..}/b", "byte 7", "parent"},
        {"\\.\\./a", "byte 5", "parent"},
        {"{a/,b}", "byte 6", "two patterns"},
        {"a/{,b}", "byte 6", "two patterns"},
        {".", "byte 1", "names nothing"},
        {"./", "byte 1", "names nothing"},
        {"{,}", "byte 1", "names nothing"},
        {"{}", "byte 1", "names nothing"},
        {"{{{{{{{{{{{{{{{{{a}}}}}}}}}}}}}}}}}", "byte 17", "nested"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_COUNT};
        for (int round = 0; round < 2; round++) {
            struct glob *glob = glob_compile(text_str(rows[i].pattern), round, &err);
            if (glob)
                fail_msg("%s is taken", rows[i].pattern);
            if (err.code != ERR_INVALID_PATTERN || !strstr(err.message, rows[i].where) ||
                !strstr(err.message, rows[i].what))
                fail_msg("%s: %s", rows[i].pattern, err.message);
        }
    }
}

struct beneath {
    const char *pattern;
    const char *folder;
    bool may;
};

static void folders_to_leave_out(void **state)
{
    (void)state;
    static const struct beneath rows[] = {
        {"a", "", true},
        {"a", ".", true},
        {"*.py", "a", false},
        {"a/b", "a", true},
        {"a/b", "a/", true},
        {"a/b", "b", false},
        {"a/b", "a/b", false},
        {"a/", "a", false},
        {"a/b/", "a", true},
        {"src/**/*.ts", "src", true},
        {"src/**/*.ts", "src/a/b", true},
        {"src/**/*.ts", "lib", false},
        {"src/**/*.ts", "srcx", false},
        {"src/**/*.ts", "sr", false},
        {"**/x", "a/b/c", true},
        {"a/**", "a", true},
        {"a/**", "b", false},
        {"a/*/c", "a/b", true},
        {"a/*/c", "a/b/c", false},
        {"{a,b/c}/d", "b", true},
        {"{a,b/c}/d", "b/c", true},
        {"{a,b/c}/d", "c", false},
        {"[ab]/x", "b", true},
        {"[ab]/x", "c", false},
        {"?/x", "\xc3\xa4", true},
        {"?/x", "ab", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        GLOB_AT_END struct glob *glob = compiled(rows[i].pattern, false);
        for (int round = 0; round < 2; round++) {
            if (glob_may_match_beneath(glob, text_str(rows[i].folder)) != rows[i].may)
                fail_msg("%s beneath %s", rows[i].pattern, rows[i].folder);
            free(TAKE_PTR(glob->table));
        }
    }
    GLOB_AT_END struct glob *glob = compiled("*.py", true);
    assert_true(glob_may_match_beneath(glob, STR("a/b")));
}

struct whole {
    const char *pattern;
    const char *prefix;
    bool folders_only;
    bool is_pattern;
};

static void where_a_walk_begins(void **state)
{
    (void)state;
    static const struct whole rows[] = {
        {"src/a/**/x.c", "src/a", false, true},
        {"src/a", "src", false, false},
        {"a", "", false, false},
        {"a/", "", true, false},
        {"a/b/", "a", true, false},
        {"a/b/.", "a", true, false},
        {"*", "", false, true},
        {"*/a/b", "", false, true},
        {"a/b*/c", "a", false, true},
        {"./a//b/./c", "a/b", false, false},
        {"a/?", "a", false, true},
        {"a/[b]/c", "a", false, true},
        {"a/{b,c}/d", "a", false, true},
        {"a/{b/,}", "", true, true},
        {"{a}/b", "a", false, true},
        {"a\\*/b", "a*", false, true},
        {"a\\b/c", "ab", false, true},
        {".git/x", ".git", false, false},
        {".a/.b/*", ".a/.b", false, true},
        {"\xc3\xa4/\xe2\x82\xac/\xf0\x9f\x98\x80/\xff/*",
         "\xc3\xa4/\xe2\x82\xac/\xf0\x9f\x98\x80/\xff", false, true},
        {"**/", "", true, true},
        {"{a/,b/}", "", true, true},
        {"a/**/", "a", true, true},
        {"a]", "", false, false},
        {"a,b", "", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        GLOB_AT_END struct glob *glob = compiled(rows[i].pattern, false);
        struct str prefix = glob_fixed_prefix(glob);
        if (prefix.n != strlen(rows[i].prefix) || memcmp(prefix.p, rows[i].prefix, prefix.n) != 0)
            fail_msg("%s: begins in %.*s", rows[i].pattern, (int)prefix.n, prefix.p);
        if (glob_folders_only(glob) != rows[i].folders_only)
            fail_msg("%s: folders only", rows[i].pattern);
        if (glob_is_pattern(text_str(rows[i].pattern)) != rows[i].is_pattern)
            fail_msg("%s: a pattern", rows[i].pattern);
    }
    assert_false(glob_is_pattern(STR("")));
    assert_false(glob_is_pattern(STR("}")));
    GLOB_AT_END struct glob *anchored_nowhere = compiled("a", true);
    assert_int_equal(glob_fixed_prefix(anchored_nowhere).n, 0);
}

/* `piece` again and again, `n` bytes of it, with `end` behind. */
static char *repeated(const char *piece, size_t n, const char *end)
{
    char *text = mem_zero(n + strlen(end) + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = piece[i % strlen(piece)];
    memcpy(text + n, end, strlen(end));
    return text;
}

static void lengths_and_bytes(void **state)
{
    (void)state;
    struct err err = {0};
    FREE_AT_END char *longest = repeated("ab/", GLOB_TEXT_MAX, "");
    FREE_AT_END char *too_long = repeated("ab/", GLOB_TEXT_MAX, "x");
    GLOB_AT_END struct glob *glob = compiled(longest, false);
    assert_true(glob_match(glob, text_str(longest)));
    assert_false(glob_match(glob, text_str(too_long)));
    assert_null(glob_compile(text_str(too_long), false, &err));
    assert_non_null(strstr(err.message, "4097 bytes long, at most 4096"));
    assert_null(glob_compile((struct str){"a\0b", 3}, false, &err));
    assert_non_null(strstr(err.message, "NUL at byte 2"));
    assert_int_equal(err.code, ERR_INVALID_PATTERN);
    GLOB_AT_END struct glob *deep = compiled("{{{{{{{{{{{{{{{{a,b}}}}}}}}}}}}}}}}", false);
    assert_true(glob_match(deep, STR("b")));
    glob_free(NULL);
}

struct hard {
    const char *piece;
    size_t n;
    const char *end;
};

/* With exponential time none of these would end. */
static void no_pattern_takes_long(void **state)
{
    (void)state;
    static const struct hard patterns[] = {
        {"{a,b}", 100, ""},   {"{a,b}", 4095, ""},    {"{a,a}", 4095, "b"}, {"{a,aa}", 4092, "b"},
        {"{,a}", 4092, "b"},  {"*a", 8, "*b"},        {"*a", 4000, "*b"},   {"**/a/", 20, "b"},
        {"**/a/", 4000, "b"}, {"{**/,*}", 3500, "b"}, {"?", 4096, ""},      {"[ab]", 4096, ""},
        {",", 4096, ""},      {"*?", 4096, ""},
    };
    static const struct hard paths[] = {{"a", 4095, ""}, {"a/", 4095, "c"}, {"ab/", 4094, "c"}};
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        FREE_AT_END char *pattern = repeated(patterns[i].piece, patterns[i].n, patterns[i].end);
        GLOB_AT_END struct glob *glob = compiled(pattern, false);
        clock_t begin = clock();
        for (size_t k = 0; k < ARRAY_LEN(paths); k++) {
            FREE_AT_END char *path = repeated(paths[k].piece, paths[k].n, paths[k].end);
            glob_match(glob, text_str(path));
            glob_may_match_beneath(glob, text_str(path));
        }
        if (clock() - begin > 10 * CLOCKS_PER_SEC)
            fail_msg("%.20s... took %ld ms", pattern, (clock() - begin) * 1000 / CLOCKS_PER_SEC);
    }
}

static void many_alternatives_match(void **state)
{
    (void)state;
    FREE_AT_END char *pattern = repeated("{a,b}", 100, "");
    FREE_AT_END char *path = repeated("ab", 20, "");
    GLOB_AT_END struct glob *glob = compiled(pattern, false);
    assert_true(glob_match(glob, text_str(path)));
    assert_false(glob_match(glob, text_str(path + 1)));
    /* Too many for a table. */
    FREE_AT_END char *more = repeated("{a,b}", 4095, "");
    FREE_AT_END char *longer = repeated("ab", 819, "");
    GLOB_AT_END struct glob *large = compiled(more, false);
    assert_null(large->table);
    assert_true(glob_match(large, text_str(longer)));
    assert_false(glob_match(large, text_str(longer + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(stars_and_question_marks),
        cmocka_unit_test(two_stars),
        cmocka_unit_test(sets),
        cmocka_unit_test(braces),
        cmocka_unit_test(anywhere),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(folders_to_leave_out),
        cmocka_unit_test(where_a_walk_begins),
        cmocka_unit_test(lengths_and_bytes),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(many_alternatives_match),
    };
    return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
