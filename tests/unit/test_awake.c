#include <cmocka.h>

#include "base/awake.h"

#define TRIES 1600

/* How many of so many tries are made, when a share of them is in vain: each n-th; 0: none. */
static unsigned tried(struct awake *a, unsigned vain_each)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        if (!awake_begin(a, 1000))
            continue;
        n++;
        awake_end(a, vain_each == 0 || n % vain_each != 0);
    }
    return n;
}

static void goes_on_as_long_as_it_comes(void **state)
{
    (void)state;
    struct awake a;
    awake_reset(&a);
    assert_int_equal(tried(&a, 0), TRIES);
    assert_int_equal(tried(&a, 20), TRIES);
}

static void gives_up_what_is_in_vain_and_tries_again(void **state)
{
    (void)state;
    struct awake a;
    awake_reset(&a);
    unsigned n = tried(&a, 1);
    assert_in_range(n, TRIES / 16, TRIES / 16 + 10);
    /* As soon as it comes again it is tried each time. */
    tried(&a, 0);
    assert_int_equal(tried(&a, 0), TRIES);
}

static void ends_after_its_time(void **state)
{
    (void)state;
    struct awake a;
    awake_reset(&a);
    assert_true(awake_begin(&a, 0));
    assert_false(awake_goes_on(&a));
    assert_true(awake_begin(&a, 60000000000u));
    assert_true(awake_goes_on(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_as_long_as_it_comes),
        cmocka_unit_test(gives_up_what_is_in_vain_and_tries_again),
        cmocka_unit_test(ends_after_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
