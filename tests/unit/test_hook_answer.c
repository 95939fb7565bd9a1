/* What the program of a hook prints, as an answer; and the answers of several. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "gate/hook_answer.h"

static struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

struct good {
    const char *printed;
    enum verdict_kind kind;
    const char *reason;
    const char *note; /* NULL: none */
};

static void answers(void **state)
{
    (void)state;
    static const struct good rows[] = {
        {"", VERDICT_ALLOW, "", NULL},
        {" \r\n\t", VERDICT_ALLOW, "", NULL},
        {"{\"decision\":\"allow\"}", VERDICT_ALLOW, "", NULL},
        {"\n{\"decision\":\"ask\",\"reason\":\"look\"}\n", VERDICT_ASK, "look", NULL},
        {"{\"decision\":\"deny\",\"reason\":\"  two\\nlines\\u001b[31m \"}", VERDICT_DENY,
         "two lines [31m", NULL},
        {"{\"reason\":\"\\u0085\\u009b1mä\\u007f\",\"decision\":\"deny\"}", VERDICT_DENY, "1mä",
         NULL},
        {"{\"decision\":\"allow\",\"note\":{ \"ticket\" : 7 }}", VERDICT_ALLOW, "",
         "{\"ticket\":7}"},
        {"{\"note\":{},\"decision\":\"ask\"}", VERDICT_ASK, "", "{}"},
        {"{\"note\":{\"password\":\"a\",\"api_key\":[1],\"cmd\":\"x --token a\",\"n\":[null,true,-1.5]},"
         "\"decision\":\"allow\"}",
         VERDICT_ALLOW, "",
         "{\"password\":\"[redacted]\",\"api_key\":\"[redacted]\",\"cmd\":\"x --token [redacted]\","
         "\"n\":[null,true,-1.5]}"},
        {"{\"note\":{\"argv\":[\"x\",\"--token\",\"a\",\"--password\",\"b c\",\"-v\",\"y\"],"
         "\"d\":{\"secret\":null,\"password=a\":1,\"password=b\":2}},\"decision\":\"allow\"}",
         VERDICT_ALLOW, "",
         "{\"argv\":[\"x\",\"--token\",\"[redacted]\",\"--password\",\"[redacted]\",\"-v\",\"y\"],"
         "\"d\":{\"secret\":null,\"password=[redacted] 1\":\"[redacted]\",\"password=[redacted] 2\":\"[redacted]\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HOOK_ANSWER_AT_END struct hook_answer answer;
        struct err err = {0};
        if (hook_answer_read(text_str(rows[i].printed), &answer, &err) < 0)
            fail_msg("%s: %s", rows[i].printed, err.message);
        assert_int_equal(answer.kind, rows[i].kind);
        assert_string_equal(answer.reason, rows[i].reason);
        assert_string_equal(answer.rule, "");
        assert_string_equal(answer.note ? answer.note : "", rows[i].note ? rows[i].note : "");
    }
}

static void no_answers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"ok", "no JSON"},
        {"{\"decision\":\"deny\"", "no JSON"},
        {"{\"decision\":\"allow\"} {\"decision\":\"deny\"}", "no JSON"},
        {"{\"decision\":\"allow\",\"decision\":\"deny\"}", "decision"},
        {"\"allow\"", "no object"},
        {"[]", "no object"},
        {"{}", "no object"},
        {"{\"reason\":\"x\"}", "no object"},
        {"{\"decision\":\"Allow\"}", "must be"},
        {"{\"decision\":\"allow \"}", "must be"},
        {"{\"decision\":\"allow\\u0000\"}", "must be"},
        {"{\"decision\":true}", "must be"},
        {"{\"decision\":null}", "must be"},
        {"{\"decision\":\"allow\",\"reason\":7}", "`reason` must"},
        {"{\"decision\":\"allow\",\"note\":[]}", "`note` must"},
        {"{\"decision\":\"allow\",\"note\":\"x\"}", "`note` must"},
        {"{\"decision\":\"allow\",\"continue\":true}", "`continue`"},
        {"{\"decision\":\"allow\",\"reason\":\"\xff\"}", "no JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HOOK_ANSWER_AT_END struct hook_answer answer;
        struct err err = {0};
        assert_int_equal(hook_answer_read(text_str(rows[i][0]), &answer, &err), -1);
        if (!strstr(err.message, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.message);
    }
}

static void too_long(void **state)
{
    (void)state;
    FREE_AT_END char *long_note = mem_format("{\"decision\":\"allow\",\"note\":{\"a\":\"%*s\"}}",
                                             HOOK_NOTE_MAX, "x");
    FREE_AT_END char *long_reason = mem_format("{\"decision\":\"deny\",\"reason\":\"a%0*d\"}", 2000,
                                               0);
    FREE_AT_END char *too_much = mem_format("{\"decision\":\"deny\",\"reason\":\"%*s\"}",
                                            (int)HOOK_PRINTED_MAX, "x");
    HOOK_ANSWER_AT_END struct hook_answer answer;
    struct err err = {0};
    assert_int_equal(hook_answer_read(text_str(long_note), &answer, &err), -1);
    assert_non_null(strstr(err.message, "longer than"));
    assert_int_equal(hook_answer_read(text_str(too_much), &answer, &err), -1);
    assert_int_equal(hook_answer_read(text_str(long_reason), &answer, &err), 0);
    assert_int_equal(strlen(answer.reason), sizeof answer.reason - 1);
}

static void cut_between_characters(void **state)
{
    (void)state;
    char out[8];
    hook_clean(out, sizeof out, STR("äöüß"));
    assert_string_equal(out, "äöü");
    hook_clean(out, sizeof out, STR("\xff\xc3(\n\n  a \xe2\x82"));
    assert_string_equal(out, "( a");
    hook_clean(out, sizeof out, (struct str){NULL, 0});
    assert_string_equal(out, "");
}

struct said {
    enum verdict_kind kind;
    const char *note;
};

static void fold(const struct said *said, size_t n, struct hook_answer *all)
{
    for (size_t i = 0; i < n; i++) {
        struct hook_answer one = {.kind = said[i].kind, .note = mem_dup(said[i].note)};
        snprintf(one.rule, sizeof one.rule, "hooks[%zu]", i);
        snprintf(one.reason, sizeof one.reason, "reason %zu", i);
        hook_answer_add(all, &one);
        hook_answer_done(&one);
    }
}

static void folded(void **state)
{
    (void)state;
    static const struct said most[] = {{VERDICT_ALLOW, NULL},        {VERDICT_ASK, "{\"a\":1}"},
                                       {VERDICT_ASK, NULL},          {VERDICT_ALLOW, "{}"},
                                       {VERDICT_DENY, "{\"b\":[]}"}, {VERDICT_ASK, NULL}};
    static const struct {
        size_t count;
        enum verdict_kind kind;
        const char *rule;
        const char *note;
    } rows[] = {
        {0, VERDICT_ALLOW, "", NULL},
        {1, VERDICT_ALLOW, "hooks[0]", NULL},
        {2, VERDICT_ASK, "hooks[1]", "{\"hooks[1]\":{\"a\":1}}"},
        {4, VERDICT_ASK, "hooks[1]", "{\"hooks[1]\":{\"a\":1},\"hooks[3]\":{}}"},
        {6, VERDICT_DENY, "hooks[4]",
         "{\"hooks[1]\":{\"a\":1},\"hooks[3]\":{},\"hooks[4]\":{\"b\":[]}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HOOK_ANSWER_AT_END struct hook_answer all = {0};
        fold(most, rows[i].count, &all);
        assert_int_equal(all.kind, rows[i].kind);
        assert_string_equal(all.rule, rows[i].rule);
        assert_string_equal(all.note ? all.note : "", rows[i].note ? rows[i].note : "");
        if (rows[i].rule[0])
            assert_int_equal(all.reason[7], rows[i].rule[6]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),  cmocka_unit_test(no_answers),
        cmocka_unit_test(too_long), cmocka_unit_test(cut_between_characters),
        cmocka_unit_test(folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
