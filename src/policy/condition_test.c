/* One test, held against a call. */
#include <rure.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policy/condition.h"
#include "policy/domain.h"

/* Longer texts are not searched: it would hold up every other call. */
#define SEARCHED_MAX ((size_t)1 << 20)
#define GLOBBED_MAX ((size_t)64 << 10)

static enum condition_result yes_if(bool holds)
{
    return holds ? CONDITION_YES : CONDITION_NO;
}

static enum condition_result leave_test_unclear(const struct test *test, struct facts *facts,
                                                const char *why)
{
    snprintf(facts->why, sizeof facts->why, "`%.60s` %s", test->field.name, why);
    return CONDITION_ERROR;
}

/* Exact for every number that JSON text can bring here. */
static long double number_to_compare(yyjson_val *val)
{
    if (yyjson_is_uint(val))
        return (long double)yyjson_get_uint(val);
    return yyjson_is_sint(val) ? (long double)yyjson_get_sint(val)
                               : (long double)yyjson_get_real(val);
}

static bool same_scalar(yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_str(a) && yyjson_is_str(b))
        return yyjson_get_len(a) == yyjson_get_len(b) &&
               memcmp(yyjson_get_str(a), yyjson_get_str(b), yyjson_get_len(a)) == 0;
    if (yyjson_is_num(a) && yyjson_is_num(b))
        return number_to_compare(a) == number_to_compare(b);
    return yyjson_is_bool(a) && yyjson_is_bool(b) && yyjson_get_bool(a) == yyjson_get_bool(b);
}

static bool same_list(yyjson_val *a, yyjson_val *b)
{
    yyjson_arr_iter other;
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!yyjson_arr_iter_init(b, &other) || yyjson_arr_size(a) != yyjson_arr_size(b))
        return false;
    yyjson_arr_foreach(a, idx, max, item) {
        if (!same_scalar(item, yyjson_arr_iter_next(&other)))
            return false;
    }
    return true;
}

static enum condition_result is_in_test_list(yyjson_val *list, yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(list, idx, max, item) {
        if (same_scalar(item, val))
            return CONDITION_YES;
    }
    return CONDITION_NO;
}

static enum condition_result matches_test_glob(const struct test *test, struct facts *facts,
                                               struct str text)
{
    if (text.n > GLOBBED_MAX)
        return leave_test_unclear(test, facts, "is too long to be matched with a glob");
    FREE_AT_END char *copy = mem_copy(text.p, text.n);
    for (char *at = copy; (at = memchr(at, '/', text.n - (size_t)(at - copy)));)
        *at = TEST_SLASH;
    glob_used(test->glob);
    return yes_if(glob_match(test->glob, (struct str){copy, text.n}));
}

static enum condition_result matches_regex(const struct test *test, struct facts *facts,
                                           struct str text)
{
    if (text.n > SEARCHED_MAX)
        return leave_test_unclear(test, facts,
                                  "is too long to be searched with a regular expression");
    return yes_if(rure_is_match(test->regex, (const uint8_t *)text.p, text.n, 0));
}

static enum condition_result compare_numbers(const struct test *test, struct facts *facts,
                                             yyjson_val *val)
{
    if (!yyjson_is_num(val))
        return leave_test_unclear(test, facts, "is not a number");
    long double given = number_to_compare(val);
    long double limit = number_to_compare(test->value);
    if (test->kind == TEST_LESS)
        return yes_if(given < limit);
    if (test->kind == TEST_GREATER)
        return yes_if(given > limit);
    return yes_if(test->kind == TEST_AT_MOST ? given <= limit : given >= limit);
}

static enum condition_result is_in_domain(const struct test *test, struct facts *facts,
                                          struct str text)
{
    char host[DOMAIN_MAX];
    struct err err;
    bool bare = test->field.kind == FIELD_DOMAIN;
    if ((bare ? domain_read(text, host, &err) : domain_of_url(text, host, &err)) < 0) {
        char why[160];
        snprintf(why, sizeof why, "cannot be read as a URL: %.120s", err.message);
        return leave_test_unclear(test, facts, why);
    }
    for (size_t i = 0; i < test->n_domains; i++) {
        if (domain_covers(test->domains[i], host))
            return CONDITION_YES;
    }
    return CONDITION_NO;
}

/* --- paths */

static enum condition_result relate_all(const struct test *test, const struct place *place)
{
    enum condition_result result = CONDITION_NO;
    for (size_t i = 0; i < test->n_paths; i++) {
        bool loose;
        enum relation relation = place_relate(place, &test->paths[i], &loose);
        bool holds = relation == PLACE_SAME ||
                     (relation == PLACE_BENEATH && test->kind == TEST_BENEATH);
        if (holds && !loose)
            return CONDITION_YES;
        if (holds || (relation == PLACE_ABOVE && place->tree))
            result = CONDITION_PARTLY;
    }
    return result;
}

/* Of a tree the pattern has to match all. A pattern without a mount may mean any. */
static enum condition_result glob_place(const struct test *test, const struct place *place)
{
    const struct path_glob *glob = &test->path_glob;
    if (place->tree ? path_glob_covers(glob, place, false) : path_glob_matches(glob, place))
        return CONDITION_YES;
    if (place->tree && (path_glob_matches(glob, place) || path_glob_touches(glob, place)))
        return CONDITION_PARTLY;
    if (!place->mounted || glob->absolute)
        return CONDITION_NO;
    struct str rest = {place->rest, strlen(place->rest)};
    bool loose = (strcmp(rest.p, ".") != 0 && glob_match(glob->glob, rest)) ||
                 (place->tree && glob_may_match_beneath(glob->glob, rest));
    return loose ? CONDITION_PARTLY : CONDITION_NO;
}

static enum condition_result judge_place_test(const struct test *test, struct facts *facts,
                                              const struct place *place)
{
    if (place->state == PLACE_MISSING)
        return CONDITION_NO;
    if (place->state != PLACE_KNOWN)
        return CONDITION_ERROR;
    if (test->kind == TEST_GLOB)
        return glob_place(test, place);
    if (test->kind != TEST_REGEX)
        return relate_all(test, place);
    enum condition_result named = matches_regex(test, facts,
                                                (struct str){place->text, strlen(place->text)});
    /* What lies beneath has other names. */
    return named == CONDITION_NO && place->tree ? CONDITION_PARTLY : named;
}

static enum condition_result judge_path(const struct test *test, struct facts *facts,
                                        struct str text)
{
    struct place place = {.state = PLACE_UNREAD};
    facts->looked_at_path = true;
    facts_read_place(facts, text, &place);
    enum condition_result result = judge_place_test(test, facts, &place);
    place_done(&place);
    return result;
}

/* --- values */

static enum condition_result judge_text(const struct test *test, struct facts *facts,
                                        yyjson_val *val)
{
    if (!yyjson_is_str(val))
        return leave_test_unclear(test, facts, "is not a text");
    struct str text = json_str(val);
    if (test->kind == TEST_GLOB)
        return matches_test_glob(test, facts, text);
    if (test->kind == TEST_REGEX)
        return matches_regex(test, facts, text);
    return test->kind == TEST_DOMAIN ? is_in_domain(test, facts, text)
                                     : judge_path(test, facts, text);
}

static bool reads_path(const struct test *test)
{
    return test->field.kind == FIELD_PATH &&
           (test->kind == TEST_EQUALS || test->kind == TEST_IN || test->kind == TEST_GLOB ||
            test->kind == TEST_REGEX || test->kind == TEST_BENEATH);
}

static enum condition_result judge_scalar(const struct test *test, struct facts *facts,
                                          yyjson_val *val)
{
    if (reads_path(test))
        return yyjson_is_str(val) ? judge_path(test, facts, json_str(val))
                                  : leave_test_unclear(test, facts, "is not a text");
    switch (test->kind) {
    case TEST_EQUALS:
        return yes_if(same_scalar(test->value, val));
    case TEST_IN:
        return is_in_test_list(test->value, val);
    case TEST_LESS:
    case TEST_GREATER:
    case TEST_AT_MOST:
    case TEST_AT_LEAST:
        return compare_numbers(test, facts, val);
    default:
        return judge_text(test, facts, val);
    }
}

static enum condition_result judge_value(const struct test *test, struct facts *facts,
                                         yyjson_val *val, size_t part);

/* All items, some or none. */
static enum condition_result judge_items(const struct test *test, struct facts *facts,
                                         yyjson_val *list, size_t part)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    bool some = false;
    bool all = yyjson_arr_size(list) > 0;
    yyjson_arr_foreach(list, idx, max, item) {
        enum condition_result one = judge_value(test, facts, item, part);
        if (one == CONDITION_ERROR)
            return one;
        some |= one != CONDITION_NO;
        all &= one == CONDITION_YES;
    }
    return all ? CONDITION_YES : some ? CONDITION_PARTLY : CONDITION_NO;
}

/* `part` is the next part of the field's name. As deep as JSON may be. */
static enum condition_result judge_value(const struct test *test, struct facts *facts,
                                         yyjson_val *val, size_t part)
{
    if (!val || yyjson_is_null(val))
        return CONDITION_NO;
    bool last = part == test->field.n_parts;
    if (last && yyjson_is_arr(test->value) && test->kind == TEST_EQUALS)
        return yes_if(yyjson_is_arr(val) && same_list(test->value, val));
    if (yyjson_is_arr(val))
        return judge_items(test, facts, val, part);
    if (last)
        return judge_scalar(test, facts, val);
    struct str name = test->field.parts[part];
    return judge_value(test, facts, yyjson_obj_getn(val, name.p, name.n), part + 1);
}

/* Words without a shell, seen as if they were written for one: good enough to say no. */
static enum condition_result judge_words(const struct test *test, struct facts *facts)
{
    FREE_AT_END char *words = test->field.shell ? facts_joined_words(facts) : NULL;
    if (!words)
        return CONDITION_NO;
    yyjson_val room = {0};
    yyjson_set_str(&room, words);
    enum condition_result result = judge_value(test, facts, &room, 1);
    return result == CONDITION_YES ? CONDITION_PARTLY : result;
}

enum condition_result test_judge(const struct test *test, struct facts *facts)
{
    if (test->kind == TEST_EXISTS)
        return yes_if(facts_given(facts, &test->field) == yyjson_get_bool(test->value));
    if (test->kind == TEST_PROGRAM)
        return test_programs(test, facts);
    if (!facts_takes(facts, &test->field))
        return CONDITION_NO;
    const struct place *place = reads_path(test) && test->field.n_parts == 1
                                    ? facts_place_named(facts, test->field.parts[0])
                                    : NULL;
    if (place)
        return judge_place_test(test, facts, place);
    yyjson_val room;
    yyjson_val *val = facts_value(facts, test->field.parts[0], &room);
    return val ? judge_value(test, facts, val, 1) : judge_words(test, facts);
}
