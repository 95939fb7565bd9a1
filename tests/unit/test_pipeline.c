#include <cmocka.h>

#include "pipeline_parts.h"

static void each_step_waits_for_the_one_before(void **state)
{
    (void)state;
    finish_at_once = true;
    submit(1);
    assert_trace("intent 1; ");
    turn();
    assert_trace("flush; durable; start 1; outcome 1; flush; durable; answer 1 ok; ");
}

static void what_comes_together_is_recorded_together(void **state)
{
    (void)state;
    submit(1);
    submit(2);
    submit(3);
    turn();
    assert_trace("intent 1; intent 2; intent 3; flush; durable; start 1; start 2; start 3; ");
    finish(known[2].call, ERR_COUNT);
    finish(known[1].call, ERR_NOT_FOUND);
    turn();
    assert_trace("outcome 2; outcome 1; flush; durable; answer 2 ok; answer 1 NOT_FOUND; ");
    assert_int_equal(pipeline_in_flight(&pipeline), 1);
    finish(known[3].call, ERR_COUNT);
    turn();
    assert_trace("outcome 3; flush; durable; answer 3 ok; ");
    assert_int_equal(pipeline_in_flight(&pipeline), 0);
    turn();
    assert_trace("");
}

static void nothing_starts_before_its_intent_is_safe(void **state)
{
    (void)state;
    disk_is_slow = true;
    submit(1);
    turn();
    turn();
    assert_trace("intent 1; flush; ");
    disk_answers(0);
    assert_trace("durable; start 1; ");
    finish(known[1].call, ERR_COUNT);
    turn();
    turn();
    assert_trace("outcome 1; flush; ");
    disk_answers(0);
    assert_trace("durable; answer 1 ok; ");
}

/* Its answer does wait. */
static void who_only_reads_does_not_wait_for_the_disk_to_start(void **state)
{
    (void)state;
    disk_is_slow = true;
    pipeline_submit(&pipeline, new_call(1, "look", "{}"));
    submit(2);
    turn();
    assert_trace("intent 1; intent 2; flush; start 1; ");
    finish(known[1].call, ERR_COUNT);
    turn();
    assert_trace("outcome 1; flush; ");
    disk_answers(0);
    assert_trace("durable; start 2; ");
    disk_answers(0);
    assert_trace("durable; answer 1 ok; ");
    finish(known[2].call, ERR_COUNT);
    turn();
    disk_answers(0);
    assert_trace("outcome 2; flush; durable; answer 2 ok; ");
}

static void others_come_in_while_the_disk_is_slow(void **state)
{
    (void)state;
    disk_is_slow = true;
    submit(1);
    turn();
    submit(2);
    turn();
    assert_trace("intent 1; flush; intent 2; flush; ");
    disk_answers(0);
    finish(known[1].call, ERR_COUNT);
    turn();
    assert_trace("durable; start 1; outcome 1; flush; ");
    disk_answers(0);
    assert_trace("durable; start 2; ");
    disk_answers(0);
    assert_trace("durable; answer 1 ok; ");
    finish(known[2].call, ERR_COUNT);
    turn();
    disk_answers(0);
    assert_trace("outcome 2; flush; durable; answer 2 ok; ");
}

static void without_a_record_nothing_starts(void **state)
{
    (void)state;
    flush_fails = true;
    submit(1);
    submit(2);
    turn();
    assert_int_equal(known[1].starts + known[2].starts, 0);
    assert_int_equal(known[1].code, ERR_DISK_FULL);
    assert_string_equal(known[2].message, "the log's disk is full");
    /* Each intent that is still to be written has an outcome that goes with it. */
    assert_int_equal(known[1].outcomes, 1);
    flush_fails = false;
    finish_at_once = true;
    buf_reset(&trace, SIZE_MAX);
    submit(3);
    turn();
    assert_trace("intent 3; flush; durable; start 3; outcome 3; flush; durable; answer 3 ok; ");
}

static void without_a_record_nothing_is_answered_as_done(void **state)
{
    (void)state;
    submit(1);
    turn();
    flush_fails = true;
    finish(known[1].call, ERR_COUNT);
    turn();
    assert_int_equal(known[1].answers, 1);
    assert_true(known[1].failed);
    /* DISK_FULL would say that nothing was changed and that it may be tried again. */
    assert_int_equal(known[1].code, ERR_INTERNAL);
    assert_non_null(strstr(known[1].message, "the call was done"));
    assert_non_null(strstr(known[1].message, "the log's disk is full"));
}

static void a_call_that_failed_says_so_when_it_cannot_be_recorded(void **state)
{
    (void)state;
    submit(1);
    turn();
    flush_fails = true;
    finish(known[1].call, ERR_INTERRUPTED);
    turn();
    assert_int_equal(known[1].code, ERR_INTERNAL);
    assert_non_null(strstr(known[1].message, "the call failed"));
}

static void a_read_without_a_record_may_be_tried_again(void **state)
{
    (void)state;
    pipeline_submit(&pipeline, new_call(1, "look", "{}"));
    turn();
    flush_fails = true;
    finish(known[1].call, ERR_COUNT);
    turn();
    assert_int_equal(known[1].code, ERR_DISK_FULL);
}

static void a_lost_disk_starts_nothing(void **state)
{
    (void)state;
    disk_is_slow = true;
    submit(1);
    turn();
    disk_answers(-EIO);
    assert_int_equal(known[1].starts, 0);
    disk_is_slow = false;
    turn();
    assert_int_equal(known[1].answers, 1);
    assert_int_equal(known[1].code, ERR_INTERNAL);
    disk_is_slow = true;
    submit(2);
    turn();
    disk_answers(0);
    finish(known[2].call, ERR_COUNT);
    turn();
    disk_answers(-EIO);
    assert_int_equal(known[2].answers, 1);
    assert_int_equal(known[2].code, ERR_INTERNAL);
    assert_non_null(strstr(known[2].message, "the call was done"));
}

static void what_is_refused_has_one_record_and_never_starts(void **state)
{
    (void)state;
    pipeline_submit(&pipeline, new_call(1, "play", "{}"));
    pipeline_submit(&pipeline, new_call(2, "work", "{'size':10}"));
    pipeline_submit(&pipeline, new_call(3, "work", "{'what':1}"));
    policy_refuses = true;
    pipeline_submit(&pipeline, new_call(4, "work", "{}"));
    struct call *unreadable = new_call(5, "work", "{}");
    unreadable->failed = true;
    err_set(&unreadable->err, ERR_TOO_LARGE, "the line is too long");
    pipeline_submit(&pipeline, unreadable);
    /* A front may still be in the middle of something: not from inside submit. */
    assert_trace("outcome 1; outcome 2; outcome 3; outcome 4; outcome 5; ");
    turn();
    assert_trace("flush; durable; answer 1 UNKNOWN_TOOL; answer 2 INVALID_ARGUMENTS; "
                 "answer 3 INVALID_ARGUMENTS; answer 4 POLICY_DENIED; answer 5 TOO_LARGE; ");
    assert_string_equal(known[5].message, "the line is too long");
}

static void settings_that_changed_are_asked_again(void **state)
{
    (void)state;
    struct err err;
    submit(1);
    turn();
    assert_int_equal(pipeline_recheck(known[1].call, &err), 0);
    policy_refuses = true;
    assert_int_equal(pipeline_recheck(known[1].call, &err), -1);
    assert_int_equal(err.code, ERR_POLICY_DENIED);
    pipeline_finish(known[1].call, &err);
    turn();
    assert_int_equal(known[1].code, ERR_POLICY_DENIED);
}

/* The workspace's own settings become known between a call's check and its start. */
static void settings_that_came_meanwhile_hold(void **state)
{
    (void)state;
    struct config *operators = config_new();
    struct config *with_workspace = config_clone(operators);
    submit(1);
    struct workplace *at = known[1].call->workplace;
    at->config = operators;
    finish_at_once = true;
    turn();
    assert_int_equal(known[1].starts, 1); /* what was allowed with none is allowed with these */
    submit(2);
    at->config = with_workspace;
    policy_refuses = true;
    turn();
    assert_int_equal(known[2].starts, 0);
    assert_int_equal(known[2].code, ERR_POLICY_DENIED);
    at->config = NULL;
    config_free(operators);
    config_free(with_workspace);
}

static void cancelled_before_its_turn_it_never_starts(void **state)
{
    (void)state;
    submit(1);
    pipeline_cancel(known[1].call, ERR_CANCELLED, "changed my mind");
    turn();
    assert_trace("intent 1; flush; durable; outcome 1; flush; durable; answer 1 CANCELLED; ");
    assert_string_equal(known[1].message, "changed my mind");
    disk_is_slow = true;
    submit(2);
    turn();
    pipeline_cancel(known[2].call, ERR_CANCELLED, "changed my mind");
    disk_is_slow = false;
    disk_answers(0);
    turn();
    assert_trace("intent 2; flush; durable; outcome 2; flush; durable; answer 2 CANCELLED; ");
}

static void a_running_call_is_asked_to_stop_once(void **state)
{
    (void)state;
    submit(1);
    turn();
    buf_reset(&trace, SIZE_MAX);
    pipeline_cancel(known[1].call, ERR_CANCELLED, "enough");
    pipeline_cancel(known[1].call, ERR_TIMEOUT, "again");
    turn();
    assert_trace("cancel 1; ");
    finish(known[1].call, ERR_CANCELLED);
    turn();
    assert_trace("outcome 1; flush; durable; answer 1 CANCELLED; ");
    assert_string_equal(known[1].message, "enough");
}

/* The file was written after all: saying otherwise would be wrong. */
static void what_really_happened_is_answered(void **state)
{
    (void)state;
    static const enum err_code codes[] = {ERR_COUNT, ERR_NOT_FOUND, ERR_PRECONDITION_FAILED};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        submit(i);
        turn();
        pipeline_cancel(known[i].call, ERR_CANCELLED, "too late");
        finish(known[i].call, codes[i]);
        turn();
        assert_int_equal(known[i].code, codes[i]);
    }
}

static void a_call_that_is_done_cannot_be_cancelled(void **state)
{
    (void)state;
    disk_is_slow = true;
    submit(1);
    turn();
    disk_answers(0);
    finish(known[1].call, ERR_COUNT);
    pipeline_cancel(known[1].call, ERR_CANCELLED, "too late");
    turn();
    pipeline_cancel(known[1].call, ERR_CANCELLED, "much too late");
    disk_answers(0);
    assert_int_equal(known[1].code, ERR_COUNT);
    assert_int_equal(known[1].cancels, 0);
}

static void a_call_is_finished_once(void **state)
{
    (void)state;
    disk_is_slow = true;
    submit(1);
    turn();
    disk_answers(0);
    struct call *call = known[1].call;
    finish(call, ERR_COUNT);
    finish(call, ERR_NOT_FOUND);
    turn();
    finish(call, ERR_NOT_FOUND);
    disk_answers(0);
    turn();
    assert_int_equal(known[1].outcomes, 1);
    assert_int_equal(known[1].answers, 1);
    assert_int_equal(known[1].code, ERR_COUNT);
}

static void time_runs_out(void **state)
{
    (void)state;
    submit(1);
    turn();
    pass(9900);
    assert_int_equal(known[1].cancels, 0);
    pass(200);
    assert_int_equal(known[1].cancels, 1);
    finish(known[1].call, ERR_CANCELLED);
    turn();
    assert_int_equal(known[1].code, ERR_TIMEOUT);
    assert_int_equal(known[1].kills, 0);
}

static void who_does_not_stop_is_stopped(void **state)
{
    (void)state;
    submit(1);
    submit(2);
    turn();
    pipeline_cancel(known[1].call, ERR_CANCELLED, "enough");
    pass(1900);
    assert_int_equal(known[1].kills, 0);
    pass(200);
    assert_int_equal(known[1].kills, 1);
    pass(5000);
    turn();
    assert_int_equal(known[1].kills, 1);
    assert_int_equal(known[1].answers, 1);
    assert_int_equal(known[1].code, ERR_CANCELLED);
    assert_string_equal(known[1].message, "enough");
    /* The other one was in the same cell, and nobody had cancelled it. */
    assert_int_equal(known[2].code, ERR_INTERRUPTED);
}

static void stopping_takes_its_time(void **state)
{
    (void)state;
    kill_is_slow = true;
    submit(1);
    turn();
    pipeline_cancel(known[1].call, ERR_CANCELLED, "enough");
    for (int i = 0; i < 10; i++)
        pass(1000);
    assert_int_equal(known[1].kills, 1);
    assert_int_equal(known[1].answers, 0);
    finish(known[1].call, ERR_INTERRUPTED);
    turn();
    assert_int_equal(known[1].code, ERR_CANCELLED);
}

static void a_call_out_of_time_is_stopped_in_the_end(void **state)
{
    (void)state;
    submit(1);
    turn();
    pass(10100);
    assert_int_equal(known[1].cancels, 1);
    pass(2100);
    turn();
    assert_int_equal(known[1].kills, 1);
    assert_int_equal(known[1].code, ERR_TIMEOUT);
}

static void names_in_the_log_are_unique(void **state)
{
    (void)state;
    char uids[50][CALL_UID_MAX];
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        submit(i);
        memcpy(uids[i], known[i].call->uid, CALL_UID_MAX);
        assert_true(strlen(uids[i]) > 8);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(uids[i], uids[k]);
    }
    finish_at_once = true;
    turn();
}

/* --- an answer that leads to the next call, as a loop of an agent does */

static void submit_next(struct call *call)
{
    size_t number = (size_t)(known_of(call) - known);
    answered(call);
    if (number < 5) {
        struct call *next = new_call(number + 1, "work", "{}");
        next->answer = submit_next;
        pipeline_submit(&pipeline, next);
    }
}

static void an_answer_may_bring_the_next_call(void **state)
{
    (void)state;
    finish_at_once = true;
    struct call *first = new_call(0, "work", "{}");
    first->answer = submit_next;
    pipeline_submit(&pipeline, first);
    for (int i = 0; i < 10; i++)
        turn();
    for (size_t i = 0; i <= 5; i++) {
        assert_int_equal(known[i].answers, 1);
        assert_int_equal(known[i].starts, 1);
    }
}

static void count_turns(void *arg)
{
    ++*(int *)arg;
}

static void a_front_hears_when_a_turn_is_over(void **state)
{
    (void)state;
    int turns = 0;
    struct pipeline_listener listener = {.turned = count_turns, .arg = &turns};
    pipeline_listen(&pipeline, &listener);
    finish_at_once = true;
    submit(1);
    turn();
    assert_int_equal(turns, 1);
    assert_int_equal(known[1].answers, 1);
}

static void submit_more(void *arg)
{
    int *next = arg;
    if (*next <= 4)
        submit((*next)++);
}

/* A front that had to hold calls back submits them when it hears that; then nothing else wakes the loop. */
static void what_a_front_adds_then_does_not_wait(void **state)
{
    (void)state;
    int next = 2;
    struct pipeline_listener listener = {.turned = submit_more, .arg = &next};
    pipeline_listen(&pipeline, &listener);
    finish_at_once = true;
    submit(1);
    turn();
    for (int i = 1; i <= 4; i++)
        assert_int_equal(known[i].answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_step_waits_for_the_one_before),
        TEST(what_comes_together_is_recorded_together),
        TEST(nothing_starts_before_its_intent_is_safe),
        TEST(who_only_reads_does_not_wait_for_the_disk_to_start),
        TEST(others_come_in_while_the_disk_is_slow),
        TEST(without_a_record_nothing_starts),
        TEST(without_a_record_nothing_is_answered_as_done),
        TEST(a_lost_disk_starts_nothing),
        TEST(a_call_that_failed_says_so_when_it_cannot_be_recorded),
        TEST(a_read_without_a_record_may_be_tried_again),
        TEST(what_is_refused_has_one_record_and_never_starts),
        TEST(settings_that_changed_are_asked_again),
        TEST(settings_that_came_meanwhile_hold),
        TEST(cancelled_before_its_turn_it_never_starts),
        TEST(a_running_call_is_asked_to_stop_once),
        TEST(what_really_happened_is_answered),
        TEST(a_call_that_is_done_cannot_be_cancelled),
        TEST(a_call_is_finished_once),
        TEST(time_runs_out),
        TEST(who_does_not_stop_is_stopped),
        TEST(stopping_takes_its_time),
        TEST(a_call_out_of_time_is_stopped_in_the_end),
        TEST(names_in_the_log_are_unique),
        TEST(an_answer_may_bring_the_next_call),
        TEST(a_front_hears_when_a_turn_is_over),
        TEST(what_a_front_adds_then_does_not_wait),
    };
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
