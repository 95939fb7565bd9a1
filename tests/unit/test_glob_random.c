/* Patterns and paths made at random, judged by the slow matcher too. */
#include <cmocka.h>
#include <stdio.h>

#include "base/mem.h"
#include "core/glob_program.h"
#include "random.h"
#include "slow_glob.h"

#define TEXT_MAX 60

struct text {
    char p[TEXT_MAX + 8];
    size_t n;
};

static struct str str_of(const struct text *text)
{
    return (struct str){text->p, text->n};
}

static void add(struct text *text, const char *piece)
{
    size_t n = strlen(piece);
    if (text->n + n > TEXT_MAX)
        return;
    memcpy(text->p + text->n, piece, n);
    text->n += n;
}

/* Balanced more often than not, so that many are patterns. */
static void make_pattern(struct text *out, unsigned depth)
{
    static const char *const pieces[] = {
        "a",        "b",    "a",    "/",    "/",    "*",    "*",        "**",   "**/",
        "/**",      "/**/", "?",    "[ab]", "[!a]", "[^b]", "[b-\xff]", "[]a]", "[.-/]",
        ".",        "..",   "./",   "\\*",  "\\",   ",",    "]",        "}",    "[",
        "\xc3\xa4", "\xff", "\xc3", "\xa4", "***",  "{}",
    };
    for (size_t left = random_below(6) + (depth == 0); left > 0; left--) {
        if (random_below(7) == 0 && depth < 3) {
            add(out, "{");
            for (size_t k = random_below(3); k > 0; k--) {
                make_pattern(out, depth + 1);
                add(out, ",");
            }
            make_pattern(out, depth + 1);
            add(out, "}");
            continue;
        }
        /* The last ones mostly make a pattern wrong or odd. */
        size_t odd = random_below(8) == 0 ? ARRAY_LEN(pieces) : 18;
        add(out, pieces[random_below(odd)]);
    }
}

static const char *const names[] = {"a",         "b",        "aa",   "ab",      "ba", ".a",
                                    "b.",        "\xc3\xa4", "\xff", "*",       "]",  "a\xc3",
                                    "b\xc3\xa4", "-",        "...",  "\xe2\x82"};

static void make_path(struct text *out)
{
    out->n = 0;
    for (size_t left = random_below(4) + 1; left > 0; left--) {
        add(out, names[random_below(ARRAY_LEN(names))]);
        if (left > 1)
            add(out, "/");
    }
}

/* A path that follows the pattern, more or less. */
static void follow_pattern(struct slow_glob *slow, struct text *out)
{
    const struct slow_path *path = &slow->paths[random_below(slow->count)];
    out->n = 0;
    for (size_t i = 0; i < path->count; i++) {
        const struct slow_component *c = &path->components[i];
        bool whole = c->n == 1 && c->tokens[0] == SLOW_STARS;
        if (whole && i + 1 < path->count && random_below(2))
            continue;
        if (out->n)
            add(out, "/");
        for (size_t k = 0; k < c->n; k++) {
            int token = c->tokens[k];
            if (token >= 0 && token < 0x80)
                add(out, (char[]){(char)token, '\0'});
            else if (token <= SLOW_BYTE)
                add(out, (char[]){(char)(SLOW_BYTE - token), '\0'});
            else if (token == 0xe4)
                add(out, "\xc3\xa4");
            else if (token != SLOW_STAR || random_below(2))
                add(out, names[random_below(ARRAY_LEN(names))]);
        }
    }
}

static bool is_path(struct str text)
{
    for (size_t i = 0; i <= text.n; i++) {
        size_t from = i;
        while (i < text.n && text.p[i] != '/')
            i++;
        if (i == from ||
            (text.p[from] == '.' && (i == from + 1 || (i == from + 2 && text.p[from + 1] == '.'))))
            return false;
    }
    return true;
}

struct counts {
    unsigned patterns;
    unsigned refused;
    unsigned matches;
    unsigned misses;
    unsigned pruned;
};

static void check_beneath(const struct glob *glob, struct str path, const char *shown)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '/' && !glob_may_match_beneath(glob, (struct str){path.p, i}))
            fail_msg("%s: leaves out the folder of %.*s", shown, (int)path.n, path.p);
    }
    struct str prefix = glob_fixed_prefix(glob);
    if (prefix.n &&
        (path.n <= prefix.n || memcmp(path.p, prefix.p, prefix.n) != 0 || path.p[prefix.n] != '/'))
        fail_msg("%s: %.*s is not beneath %.*s", shown, (int)path.n, path.p, (int)prefix.n,
                 prefix.p);
}

static void check_path(const struct glob *glob, struct slow_glob *slow, const struct text *pattern,
                       struct str path, struct counts *counts)
{
    char shown[TEXT_MAX + 1];
    snprintf(shown, sizeof shown, "%.*s", (int)pattern->n, pattern->p);
    bool expected = slow_match(slow, path);
    if (slow->too_much || !is_path(path))
        return;
    if (glob_match(glob, path) != expected)
        fail_msg("%s %s %.*s", shown, expected ? "must match" : "must not match", (int)path.n,
                 path.p);
    counts->matches += expected;
    counts->misses += !expected;
    counts->pruned += !glob_may_match_beneath(glob, path);
    if (expected)
        check_beneath(glob, path, shown);
}

/* With the table and without it. */
static void check_pattern(const struct text *pattern, bool anywhere, struct counts *counts)
{
    static struct slow_glob slow;
    struct err err = {0};
    slow_compile(&slow, str_of(pattern), anywhere);
    if (slow.too_much)
        return;
    GLOB_AT_END struct glob *glob = glob_compile(str_of(pattern), anywhere, &err);
    if (!glob != slow.bad)
        fail_msg("%.*s: %s", (int)pattern->n, pattern->p, glob ? "is taken" : err.message);
    counts->refused += slow.bad;
    counts->patterns += !slow.bad;
    if (!glob) {
        assert_int_equal(err.code, ERR_INVALID_PATTERN);
        return;
    }
    assert_int_equal(glob_folders_only(glob), slow.folders_only);
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 12; k++) {
            struct text path;
            if (k % 2)
                make_path(&path);
            else
                follow_pattern(&slow, &path);
            check_path(glob, &slow, pattern, str_of(&path), counts);
        }
        free(TAKE_PTR(glob->table));
    }
}

static void agrees_with_the_slow_one(void **state)
{
    (void)state;
    struct counts counts = {0};
    for (unsigned round = 0; round < random_rounds(60000); round++) {
        struct text pattern = {.n = 0};
        make_pattern(&pattern, 0);
        check_pattern(&pattern, round & 1, &counts);
    }
    /* Not vacuous: enough of everything. */
    printf("# %u patterns, %u refused, %u matches, %u misses, %u folders left out\n",
           counts.patterns, counts.refused, counts.matches, counts.misses, counts.pruned);
    assert_true(counts.patterns > 10000 && counts.refused > 1000);
    assert_true(counts.matches > 50000 && counts.misses > 50000 && counts.pruned > 10000);
}

/* Every path of up to five characters out of a few, for patterns of a few characters. */
static void agrees_on_all_short_paths(void **state)
{
    (void)state;
    static const char letters[] = "ab./";
    struct counts counts = {0};
    for (unsigned round = 0; round < random_rounds(400); round++) {
        static struct slow_glob slow;
        struct text pattern = {.n = 0};
        struct err err;
        make_pattern(&pattern, 0);
        slow_compile(&slow, str_of(&pattern), false);
        GLOB_AT_END struct glob *glob = glob_compile(str_of(&pattern), false, &err);
        if (!glob || slow.too_much)
            continue;
        for (unsigned number = 0; number < 4 * 4 * 4 * 4 * 4; number++) {
            char path[5];
            for (unsigned i = 0, rest = number; i < sizeof path; i++, rest /= 4)
                path[i] = letters[rest % 4];
            for (size_t n = 1; n <= sizeof path; n++)
                check_path(glob, &slow, &pattern, (struct str){path, n}, &counts);
        }
    }
    assert_true(counts.matches > 1000 && counts.misses > 1000);
}

/* What is said to be no pattern means itself. */
static void plain_texts_mean_themselves(void **state)
{
    (void)state;
    unsigned plain = 0;
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        struct text text;
        struct err err;
        make_path(&text);
        if (glob_is_pattern(str_of(&text)) || !is_path(str_of(&text)))
            continue;
        GLOB_AT_END struct glob *glob = glob_compile(str_of(&text), false, &err);
        assert_non_null(glob);
        assert_true(glob_match(glob, str_of(&text)));
        struct str prefix = glob_fixed_prefix(glob);
        const char *slash = memrchr(text.p, '/', text.n);
        assert_int_equal(prefix.n, slash ? slash - text.p : 0);
        plain++;
    }
    assert_true(plain > 1000);
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
        cmocka_unit_test(agrees_with_the_slow_one),
        cmocka_unit_test(agrees_on_all_short_paths),
        cmocka_unit_test(plain_texts_mean_themselves),
    };
    return cmocka_run_group_tests_name("glob_random", tests, set_up, NULL);
}
