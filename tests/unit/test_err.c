#include <cmocka.h>

#include "base/err.h"
#include "json_text.h"

static bool is_word(const char *text)
{
    return text && *text && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(text);
}

static void every_code_has_words(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        const struct err_row *row = err_row((enum err_code)i);
        assert_true(is_word(row->name));
        assert_true(is_word(row->sidecar));
        assert_true(is_word(row->toolhost));
        assert_in_range(row->http, 400, 599);
        assert_in_range(-row->rpc, 32000, 32768);
        /* Our fault is not told as the caller's. */
        if (row->kind == KIND_OURS && row->http != 409)
            assert_in_range(row->http, 500, 599);
    }
}

static void names_are_unique_and_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        const char *name = err_row((enum err_code)i)->name;
        assert_int_equal(err_code_from_name(text_str(name)), i);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, err_row((enum err_code)k)->name);
    }
}

static void other_words_are_no_codes(void **state)
{
    (void)state;
    static const char *const words[] = {"",          "N",      "NOT_FOUN",  "NOT_FOUNDS",
                                        "not_found", "ENOENT", " NOT_FOUND"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_int_equal(err_code_from_name(text_str(words[i])), -1);
    assert_int_equal(err_code_from_name((struct str){NULL, 0}), -1);
    assert_int_equal(err_code_from_name((struct str){"NOT_FOUND\0", 10}), -1);
}

/* A number from elsewhere is never an index outside the table. */
static void an_unknown_number_is_our_fault(void **state)
{
    (void)state;
    assert_ptr_equal(err_row(ERR_COUNT), err_row(ERR_INTERNAL));
    assert_ptr_equal(err_row((enum err_code)9999), err_row(ERR_INTERNAL));
}

static bool may_work_later(enum err_code code, const char *reason, int64_t retry_after_ms)
{
    struct err err = {.code = code, .retry_after_ms = retry_after_ms};
    err_reason(&err, reason);
    return err_may_work_later(&err);
}

static void what_was_in_the_way_for_a_moment_may_work_later(void **state)
{
    (void)state;
    assert_true(may_work_later(ERR_CONFLICT, "locked", 0));
    assert_true(may_work_later(ERR_CONFLICT, "moved", 0));
    assert_true(may_work_later(ERR_CONFLICT, "replaced", 0));
    assert_true(may_work_later(ERR_CONFLICT, "git_locked", 0));
    assert_true(may_work_later(ERR_POLICY_DENIED, "too_many_waiting", 0));
    assert_true(may_work_later(ERR_SESSION_BUSY, "", 0));
    assert_true(may_work_later(ERR_RATE_LIMITED, "rate_limit", 5));
    assert_true(may_work_later(ERR_INTERNAL, "state_locked", 5));
    assert_false(may_work_later(ERR_CONFLICT, "", 0));
    assert_false(may_work_later(ERR_CONFLICT, "not_empty", 0));
    assert_false(may_work_later(ERR_CONFLICT, "leads_elsewhere", 0));
    assert_false(may_work_later(ERR_POLICY_DENIED, "denied_by_hook", 0));
    assert_false(may_work_later(ERR_RATE_LIMITED, "rate_limit", 0));
}

static void nothing_is_left_of_an_earlier_error(void **state)
{
    (void)state;
    struct err err = {.retry_after_ms = 5};
    assert_int_equal(err_field(&err, "path", "first %d", 1), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    assert_string_equal(err.field, "path");
    assert_string_equal(err.message, "first 1");
    assert_int_equal(err_reason(&err, "range"), -1);
    assert_string_equal(err.reason, "range");
    assert_string_equal(err.field, "path");
    assert_int_equal(err_set(&err, ERR_TIMEOUT, "second"), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_string_equal(err.message, "second");
    assert_string_equal(err.field, "");
    assert_string_equal(err.reason, "");
    assert_int_equal(err.retry_after_ms, 0);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    struct err err;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    err_field(&err, text, "%s", text);
    err_reason(&err, text);
    assert_int_equal(strnlen(err.message, sizeof err.message), sizeof err.message - 1);
    assert_int_equal(strnlen(err.field, sizeof err.field), sizeof err.field - 1);
    assert_int_equal(strnlen(err.reason, sizeof err.reason), sizeof err.reason - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_words),
        cmocka_unit_test(names_are_unique_and_lead_back),
        cmocka_unit_test(other_words_are_no_codes),
        cmocka_unit_test(an_unknown_number_is_our_fault),
        cmocka_unit_test(what_was_in_the_way_for_a_moment_may_work_later),
        cmocka_unit_test(nothing_is_left_of_an_earlier_error),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
