#include <cmocka.h>

#include "pipeline_parts.h"
#include "random.h"

#define AT_ONCE 40

enum where { ANYWHERE, RUNNING, FINISHED, HELD };

/* One of the calls that are there in the pipeline, or NULL. */
static struct known *any_call(enum where where)
{
    size_t first = random_below(CALLS_MAX);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        struct known *k = &known[(first + i) % CALLS_MAX];
        bool there = where == ANYWHERE || (where == RUNNING    ? k->running
                                           : where == FINISHED ? k->finished
                                                               : k->held);
        if (k->call && there)
            return k;
    }
    return NULL;
}

static enum err_code random_end(const struct known *k)
{
    static const enum err_code ends[] = {ERR_COUNT, ERR_COUNT, ERR_NOT_FOUND, ERR_INTERRUPTED};
    return k->cancelled && random_below(2) ? ERR_CANCELLED : ends[random_below(ARRAY_LEN(ends))];
}

static void random_submit(size_t *next)
{
    size_t number = *next;
    if (number == CALLS_MAX || pipeline_in_flight(&pipeline) >= AT_ONCE)
        return;
    bool good = random_below(6);
    const char *tool = random_below(3) ? "work" : "look";
    pipeline_submit(&pipeline, new_call(number, good ? tool : "nothing", "{}"));
    ++*next;
}

static void random_finish(enum where where)
{
    struct known *k = any_call(where);
    if (k)
        finish(k->call, random_end(k));
}

/* Calls that were cancelled before they began. */
static bool never_to_start[CALLS_MAX];

static void random_cancel(void)
{
    struct known *k = any_call(ANYWHERE);
    if (!k)
        return;
    k->cancelled = true;
    never_to_start[k - known] |= k->starts == 0;
    pipeline_cancel(k->call, random_below(2) ? ERR_CANCELLED : ERR_TIMEOUT, "random");
}

static void random_decision(bool yes)
{
    struct known *k = any_call(HELD);
    if (k)
        decide((size_t)(k - known), yes);
}

static void change_policy(void)
{
    policy_asks = random_below(3) == 0;
    policy_costs = random_below(3) > 0;
    no_money = random_below(4) == 0;
    books_are_taken = random_below(4) == 0;
    books_fail = random_below(6) == 0;
    if (workplace.unsettled && random_below(2)) {
        workplace.unsettled = false;
        pipeline_settled(&pipeline, &workplace);
    } else {
        workplace.unsettled = random_below(8) == 0;
    }
}

static void random_step(size_t *next)
{
    size_t pick = random_below(110);
    if (pick >= 107)
        change_policy();
    else if (pick >= 100)
        random_decision(random_below(3) > 0);
    else if (pick < 30)
        random_submit(next);
    else if (pick < 48)
        random_finish(RUNNING);
    else if (pick < 50)
        random_finish(FINISHED);
    else if (pick < 60)
        random_cancel();
    else if (pick < 85)
        turn();
    else if (pick < 93 && n_waiters)
        disk_answers(random_below(20) ? 0 : -EIO);
    else if (pick < 95)
        pass((int64_t)random_below(3000));
    else if (pick < 97)
        disk_is_slow = random_below(2);
    else if (pick < 98)
        flush_fails = random_below(3) == 0;
    else
        finish_at_once = random_below(4) == 0;
}

static void drain(void)
{
    flush_fails = disk_is_slow = books_are_taken = workplace.unsettled = false;
    pipeline_settled(&pipeline, &workplace);
    for (int i = 0; pipeline.in_flight && i < 10000; i++) {
        random_decision(true);
        while (n_waiters)
            disk_answers(0);
        random_finish(RUNNING);
        turn();
    }
}

static void check(const struct known *k, size_t number)
{
    if (k->answers != 1 || k->starts > 1 || k->intents > 1 || k->outcomes != 1 || k->kills > 1 ||
        k->cancels > 1)
        fail_msg("call %zu: %u intents, %u starts, %u outcomes, %u answers, %u cancels, %u kills",
                 number, k->intents, k->starts, k->outcomes, k->answers, k->cancels, k->kills);
    assert_true(k->starts <= k->intents && k->cancels <= k->starts);
    bool log_failed = k->code == ERR_DISK_FULL || k->code == ERR_INTERNAL; /* or the books */
    /* An answer whose record is not safe says so. */
    if (!log_failed && k->unsafe)
        fail_msg("call %zu was answered without its record", number);
    assert_false(never_to_start[number] && k->starts);
    assert_true(k->holds <= 1 && k->charges <= 1 && k->forgets <= k->holds && !k->held);
    assert_int_equal(k->settles, k->paid);
    if (k->code == ERR_TIMEOUT || k->code == ERR_CANCELLED)
        assert_true(k->code == ERR_TIMEOUT || k->cancelled);
}

static void every_call_is_answered_once(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(20); round++) {
        size_t count = 0;
        memset(known, 0, sizeof known);
        memset(never_to_start, 0, sizeof never_to_start);
        while (count < CALLS_MAX) {
            random_step(&count);
            if (trace.len > 1u << 20)
                buf_reset(&trace, SIZE_MAX);
        }
        drain();
        assert_int_equal(pipeline.in_flight, 0);
        assert_int_equal(pipeline.expected, 0);
        for (size_t i = 0; i < count; i++)
            check(&known[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_call_is_answered_once),
    };
    return cmocka_run_group_tests_name("pipeline_random", tests, NULL, NULL);
}
