/* Whose call is the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/turns.h"

static struct call calls[16];

static void begin(struct turns *turns, const char *clients)
{
    *turns = (struct turns){0};
    for (size_t i = 0; clients[i]; i++) {
        calls[i] = (struct call){.client = (uint32_t)clients[i]};
        turns_add(turns, &calls[i]);
    }
}

/* The numbers of the calls, in the order in which they go. */
static void expect_order(struct turns *turns, const char *numbers)
{
    for (size_t i = 0; numbers[i]; i++)
        assert_ptr_equal(turns_take(turns),
                         &calls[numbers[i] <= '9' ? numbers[i] - '0' : numbers[i] - 'a' + 10]);
    assert_null(turns_take(turns));
    assert_null(turns->next);
}

static void one_caller_is_served_in_order(void **state)
{
    (void)state;
    struct turns turns;
    begin(&turns, "xxxx");
    expect_order(&turns, "0123");
    begin(&turns, "");
    expect_order(&turns, "");
}

static void several_take_turns(void **state)
{
    (void)state;
    struct turns turns;
    begin(&turns, "xxxxxyz");
    expect_order(&turns, "0561234");
    begin(&turns, "xxyyzz");
    expect_order(&turns, "024135");
    begin(&turns, "xyxyx");
    expect_order(&turns, "01234");
}

static void a_newcomer_does_not_wait_for_all_of_another(void **state)
{
    (void)state;
    struct turns turns;
    begin(&turns, "xxxxxxxx");
    assert_ptr_equal(turns_take(&turns), &calls[0]);
    calls[8] = (struct call){.client = 'y'};
    turns_add(&turns, &calls[8]);
    assert_ptr_equal(turns_take(&turns), &calls[1]);
    assert_ptr_equal(turns_take(&turns), &calls[8]);
    expect_order(&turns, "234567");
}

static void what_is_taken_out_is_gone(void **state)
{
    (void)state;
    struct turns turns;
    struct call other = {.client = 'x'};
    begin(&turns, "xxyzz");
    assert_true(turns_drop(&turns, &calls[1]));
    assert_false(turns_drop(&turns, &calls[1]));
    assert_true(turns_drop(&turns, &calls[2]));
    assert_false(turns_drop(&turns, &other));
    /* Behind the last one of what is left. */
    turns_add(&turns, &calls[1]);
    assert_true(turns_drop(&turns, &calls[4]));
    expect_order(&turns, "031");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_caller_is_served_in_order),
        cmocka_unit_test(several_take_turns),
        cmocka_unit_test(a_newcomer_does_not_wait_for_all_of_another),
        cmocka_unit_test(what_is_taken_out_is_gone),
    };
    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
