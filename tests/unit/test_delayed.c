/* Commands that wait for room: how long each of them does. */
#include <cmocka.h>
#include <stdlib.h>

#include "core/command.h"
#include "session/delayed.h"

/* More than would be tried one after the other within the time that one waits. */
#define MANY 500

static uv_loop_t loop;
static struct delayed *delayed;
static struct call *calls[MANY];
static const struct err why = {.code = ERR_SESSION_BUSY, .message = "a test"};
static unsigned tries;

static void try_again(void *arg, struct call *call)
{
    (void)arg;
    tries++;
    delayed_add(delayed, call, &why);
}

static bool nothing_helps(void *arg)
{
    (void)arg;
    return false;
}

static const struct delayed_events events = {try_again, nothing_helps};

static int delayed_set_up(void **state)
{
    (void)state;
    struct err err;
    if (uv_loop_init(&loop) < 0)
        return -1;
    delayed = delayed_new(&loop, &events, NULL, &err);
    for (size_t i = 0; i < MANY; i++) {
        calls[i] = call_new();
        calls[i]->command = command_new(1);
    }
    tries = 0;
    return delayed ? 0 : -1;
}

static int delayed_tear_down(void **state)
{
    (void)state;
    delayed_free(delayed);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < MANY; i++)
        call_free(calls[i]);
    return uv_loop_close(&loop);
}

/* Calls that come at the same moment have failed once each: that says nothing about the first of them. */
static void many_at_once_do_not_use_up_the_patience_of_the_first(void **state)
{
    (void)state;
    static uv_timer_t awake;
    for (size_t i = 0; i < MANY; i++)
        delayed_add(delayed, calls[i], &why);
    /* The timer of those that wait does not keep a loop running. */
    assert_int_equal(uv_timer_init(&loop, &awake), 0);
    assert_int_equal(uv_timer_start(&awake, (uv_timer_cb)(void (*)(void))abort, 60000, 0), 0);
    while (tries == 0)
        uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&awake, NULL);
    assert_int_equal(tries, 1);
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(delayed_take(delayed), calls[i]);
    assert_null(delayed_take(delayed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_at_once_do_not_use_up_the_patience_of_the_first,
                                        delayed_set_up, delayed_tear_down),
    };
    return cmocka_run_group_tests_name("delayed", tests, NULL, NULL);
}
