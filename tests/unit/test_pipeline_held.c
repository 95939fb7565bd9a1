/* Calls that have to wait before they run: for settings, for someone's yes, for the books. */
#include <cmocka.h>

#include "pipeline_parts.h"

static void nothing_runs_before_someone_agrees(void **state)
{
    (void)state;
    policy_asks = true;
    finish_at_once = true;
    submit(1);
    submit(2);
    turn();
    turn();
    assert_trace("hold 1; hold 2; ");
    decide(2, true);
    turn();
    assert_trace("intent 2; flush; durable; start 2; outcome 2; flush; durable; answer 2 ok; ");
    decide(1, false);
    turn();
    assert_trace("outcome 1; flush; durable; answer 1 APPROVAL_DENIED; ");
    assert_int_equal(known[1].starts, 0);
}

/* The intent record says who approved the call. An approval is used up by the call, so that record has to survive
 * a power failure even where the call only reads: it must not start before the record is on the disk. */
static void an_approved_read_waits_for_its_record(void **state)
{
    (void)state;
    policy_asks = true;
    disk_is_slow = true;
    finish_at_once = true;
    pipeline_submit(&pipeline, new_call(1, "look", "{}"));
    decide(1, true);
    turn();
    assert_trace("hold 1; intent 1; flush; ");
    assert_int_equal(known[1].starts, 0);
    disk_answers(0);
    assert_trace("durable; start 1; outcome 1; ");
    turn();
    disk_answers(0);
    assert_int_equal(known[1].answers, 1);
}

static void an_approved_read_without_its_record_does_not_run(void **state)
{
    (void)state;
    policy_asks = true;
    disk_is_slow = true;
    pipeline_submit(&pipeline, new_call(1, "look", "{}"));
    decide(1, true);
    turn();
    disk_answers(-EIO);
    assert_trace("hold 1; intent 1; flush; lost; outcome 1; ");
    assert_int_equal(known[1].starts, 0);
    turn();
    disk_answers(0);
    assert_int_equal(known[1].code, ERR_INTERNAL);
}

static void who_waits_takes_no_part_in_the_work(void **state)
{
    (void)state;
    policy_asks = true;
    for (size_t i = 0; i < 100; i++)
        submit(i);
    assert_int_equal(pipeline_in_flight(&pipeline), 0);
    assert_int_equal(pipeline.expected, 0);
    policy_asks = false;
    submit(100);
    assert_int_equal(pipeline_in_flight(&pipeline), 1);
    assert_true(pipeline.expected > 0);
    finish_at_once = true;
    turn();
    assert_int_equal(known[100].answers, 1);
    for (size_t i = 0; i < 100; i++)
        decide(i, true);
    assert_int_equal(pipeline_in_flight(&pipeline), 100);
    turn();
    assert_int_equal(pipeline.expected, 0);
}

static void time_that_someone_took_does_not_count(void **state)
{
    (void)state;
    policy_asks = true;
    submit(1);
    pass(60000);
    decide(1, true);
    turn();
    assert_int_equal(known[1].starts, 1);
    pass(9900);
    assert_int_equal(known[1].cancels, 0);
    pass(200);
    assert_int_equal(known[1].cancels, 1);
    finish(known[1].call, ERR_CANCELLED);
    turn();
    assert_int_equal(known[1].code, ERR_TIMEOUT);
}

static void who_is_cancelled_while_it_waits_never_runs(void **state)
{
    (void)state;
    policy_asks = true;
    submit(1);
    pipeline_cancel(known[1].call, ERR_CANCELLED, "changed my mind");
    turn();
    assert_trace("hold 1; forget 1; outcome 1; flush; durable; answer 1 CANCELLED; ");
    assert_string_equal(known[1].message, "changed my mind");
}

static void without_anyone_to_ask_it_is_denied(void **state)
{
    (void)state;
    pipeline.policy.hold = NULL;
    policy_asks = true;
    submit(1);
    turn();
    assert_int_equal(known[1].code, ERR_POLICY_DENIED);
    assert_int_equal(known[1].starts, 0);
}

/* Who is cancelled and then has to be ended may have done all of it: that is not given back. */
static void cancelling_gives_nothing_back(void **state)
{
    (void)state;
    policy_costs = true;
    submit(1);
    submit(2);
    turn();
    for (int i = 1; i <= 2; i++) {
        pipeline_cancel(known[i].call, ERR_CANCELLED, "enough");
        finish(known[i].call, i == 1 ? ERR_INTERRUPTED : ERR_CANCELLED);
    }
    turn();
    assert_int_equal(known[1].code, ERR_CANCELLED);
    assert_true(known[1].cut_off);
    assert_false(known[2].cut_off);
}

static void a_turn_is_charged_together_and_before_its_records(void **state)
{
    (void)state;
    policy_costs = true;
    finish_at_once = true;
    submit(1);
    submit(2);
    turn();
    assert_trace(
        "charge 1; charge 2; intent 1; intent 2; flush; durable; start 1; outcome 1; start 2; "
        "outcome 2; flush; durable; answer 1 ok; answer 2 ok; ");
    assert_int_equal(known[1].settles, 1);
}

static void who_cannot_pay_does_not_run(void **state)
{
    (void)state;
    policy_costs = no_money = true;
    submit(1);
    turn();
    assert_trace("outcome 1; flush; durable; answer 1 BUDGET_EXCEEDED; ");
    assert_int_equal(known[1].settles, 0);
}

static void books_that_cannot_be_closed_let_nobody_run(void **state)
{
    (void)state;
    policy_costs = books_fail = true;
    submit(1);
    submit(2);
    turn();
    assert_int_equal(known[1].starts + known[2].starts, 0);
    assert_int_equal(known[1].code, ERR_DISK_FULL);
    assert_int_equal(known[2].code, ERR_DISK_FULL);
    assert_int_equal(known[1].settles, 0);
}

static void wait_for_books(int times)
{
    for (int i = 0; i < times; i++)
        pass(6);
}

static void books_that_someone_has_are_waited_for(void **state)
{
    (void)state;
    policy_costs = books_are_taken = finish_at_once = true;
    submit(1);
    wait_for_books(3);
    assert_trace("");
    submit(2);
    wait_for_books(2);
    books_are_taken = false;
    wait_for_books(3);
    assert_int_equal(known[1].answers, 1);
    assert_int_equal(known[2].answers, 1);
    assert_int_equal(known[1].code, ERR_COUNT);
}

static void but_not_for_ever(void **state)
{
    (void)state;
    policy_costs = books_are_taken = true;
    submit(1);
    turn();
    later_ns += (int64_t)5100 * NS_PER_MS;
    wait_for_books(3);
    assert_int_equal(known[1].answers, 1);
    assert_string_equal(known[1].message, "someone has them");
    /* The next one has its own patience. */
    submit(2);
    wait_for_books(2);
    assert_int_equal(known[2].answers, 0);
    books_are_taken = false;
    finish_at_once = true;
    wait_for_books(2);
    assert_int_equal(known[2].code, ERR_COUNT);
}

static void who_waits_for_books_can_be_cancelled(void **state)
{
    (void)state;
    policy_costs = books_are_taken = true;
    submit(1);
    turn();
    pipeline_cancel(known[1].call, ERR_CANCELLED, "enough");
    wait_for_books(2);
    assert_int_equal(known[1].code, ERR_CANCELLED);
    assert_int_equal(known[1].charges, 0);
}

static void an_approved_call_still_has_to_pay(void **state)
{
    (void)state;
    policy_asks = policy_costs = no_money = true;
    submit(1);
    turn();
    decide(1, true);
    turn();
    assert_int_equal(known[1].code, ERR_BUDGET_EXCEEDED);
    assert_int_equal(known[1].starts, 0);
}

/* --- settings */

static void the_verdict_waits_for_the_settings(void **state)
{
    (void)state;
    workplace.unsettled = true;
    finish_at_once = true;
    submit(1);
    submit(2);
    turn();
    assert_trace("expect 1; expect 2; ");
    workplace.unsettled = false;
    pipeline_settled(&pipeline, &workplace);
    turn();
    assert_int_equal(known[1].starts + known[2].starts, 2);
}

static void settings_that_came_are_judged_by(void **state)
{
    (void)state;
    struct config *operators = config_new();
    struct config *with_workspace = config_clone(operators);
    workplace.unsettled = true;
    workplace.config = operators;
    submit(1);
    submit(2);
    workplace.unsettled = false;
    workplace.config = with_workspace;
    policy_asks = true;
    pipeline_settled(&pipeline, &workplace);
    turn();
    assert_int_equal(known[1].holds, 1);
    policy_refuses = true;
    decide(1, true);
    decide(2, false);
    finish_at_once = true;
    turn();
    workplace.config = NULL;
    config_free(operators);
    config_free(with_workspace);
    assert_int_equal(known[1].starts, 1);
    assert_int_equal(known[2].starts, 0);
}

static void settings_that_never_come_fail_their_calls(void **state)
{
    (void)state;
    struct err err;
    workplace.unsettled = true;
    submit(1);
    submit(2);
    pipeline_cancel(known[2].call, ERR_CANCELLED, "enough");
    err_set(&err, ERR_SANDBOX_UNAVAILABLE, "no sandbox");
    pipeline_not_settled(&pipeline, &workplace, &err);
    turn();
    assert_int_equal(known[1].code, ERR_SANDBOX_UNAVAILABLE);
    assert_int_equal(known[2].code, ERR_CANCELLED);
    assert_int_equal(known[1].intents, 0);
}

static void settings_have_their_time_limit(void **state)
{
    (void)state;
    workplace.unsettled = true;
    submit(1);
    turn();
    pass(10100);
    turn();
    assert_int_equal(known[1].code, ERR_TIMEOUT);
    assert_int_equal(known[1].kills, 1);
}

/* A rule about paths that came while the call was on its way: from then on no link is followed. */
static void a_rule_about_paths_holds_at_once(void **state)
{
    (void)state;
    struct err err;
    submit(1);
    turn();
    assert_int_equal(pipeline_recheck(known[1].call, &err), 0);
    assert_false(known[1].call->verdict.as_named);
    policy_looks_at_paths = true;
    assert_int_equal(pipeline_recheck(known[1].call, &err), 0);
    assert_true(known[1].call->verdict.as_named);
    finish(known[1].call, ERR_COUNT);
    turn();
}

/* Asked anew on its way, when someone would have to be asked now. */
static void a_question_that_comes_too_late_denies(void **state)
{
    (void)state;
    struct err err;
    submit(1);
    turn();
    policy_asks = true;
    assert_int_equal(pipeline_recheck(known[1].call, &err), -1);
    assert_int_equal(err.code, ERR_POLICY_DENIED);
    known[1].call->approved = true;
    assert_int_equal(pipeline_recheck(known[1].call, &err), 0);
    finish(known[1].call, ERR_COUNT);
    turn();
}

static void hold_back(void *self, struct call *call)
{
    (void)self;
    call->deadline_ns = call->start_ns + 1;
}

/* Preparing a call sets its time limit; what was left of a budget is less. */
static void who_is_prepared_again_has_no_more_than_it_paid_for(void **state)
{
    (void)state;
    struct err err;
    policy_costs = true;
    pipeline.policy.restrain = hold_back;
    submit(1);
    turn();
    assert_true(known[1].call->deadline_ns > known[1].call->start_ns + 1);
    assert_int_equal(pipeline_recheck(known[1].call, &err), 0);
    assert_int_equal(known[1].call->deadline_ns, known[1].call->start_ns + 1);
    finish(known[1].call, ERR_COUNT);
    turn();
}

/* Nobody judges it, is asked, paid or told, whatever the disk does; its time limit and its arguments hold. */
static void a_direct_call_goes_to_its_runner(void **state)
{
    (void)state;
    policy_refuses = policy_asks = policy_costs = books_are_taken = flush_fails = true;
    pipeline_run_direct(&pipeline, new_call(1, "work", "{}"));
    assert_trace("start 1; ");
    assert_int_equal(pipeline_recheck(known[1].call, NULL), 0);
    finish(known[1].call, ERR_COUNT);
    assert_trace("");
    turn();
    assert_trace("answer 1 ok; ");
    pipeline_run_direct(&pipeline, new_call(2, "work", "{\"size\":10}"));
    turn();
    assert_trace("answer 2 INVALID_ARGUMENTS; ");
    struct call *call = new_call(3, "work", "{}");
    call->grace_ns = NS_PER_MS;
    pipeline_run_direct(&pipeline, call);
    pipeline_cancel(call, ERR_CANCELLED, "nobody waits");
    pass(100);
    assert_trace("start 3; cancel 3; kill 3; answer 3 CANCELLED; ");
    assert_int_equal(pipeline_in_flight(&pipeline), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_runs_before_someone_agrees),
        TEST(an_approved_read_waits_for_its_record),
        TEST(an_approved_read_without_its_record_does_not_run),
        TEST(who_waits_takes_no_part_in_the_work),
        TEST(time_that_someone_took_does_not_count),
        TEST(who_is_cancelled_while_it_waits_never_runs),
        TEST(without_anyone_to_ask_it_is_denied),
        TEST(cancelling_gives_nothing_back),
        TEST(a_turn_is_charged_together_and_before_its_records),
        TEST(who_cannot_pay_does_not_run),
        TEST(books_that_cannot_be_closed_let_nobody_run),
        TEST(books_that_someone_has_are_waited_for),
        TEST(but_not_for_ever),
        TEST(who_waits_for_books_can_be_cancelled),
        TEST(an_approved_call_still_has_to_pay),
        TEST(the_verdict_waits_for_the_settings),
        TEST(settings_that_came_are_judged_by),
        TEST(settings_that_never_come_fail_their_calls),
        TEST(settings_have_their_time_limit),
        TEST(a_rule_about_paths_holds_at_once),
        TEST(a_question_that_comes_too_late_denies),
        TEST(who_is_prepared_again_has_no_more_than_it_paid_for),
        TEST(a_direct_call_goes_to_its_runner),
    };
    return cmocka_run_group_tests_name("pipeline_held", tests, NULL, NULL);
}
