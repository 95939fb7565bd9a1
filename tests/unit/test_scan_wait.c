/* Calls that need to know what a scan found, while a scan runs. */
#include <cmocka.h>
#include <fcntl.h>

#include "work/guard_trees.h"
#include "work_calls.h"

static struct guard_trees trees;
static const char rules[] = "P.git\0S*.key\0S!open/";

static int wait_set_up(void **state)
{
    struct err err;
    if (work_set_up(state) < 0)
        return -1;
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    root.guard = work.guard;
    guard_trees_init(&trees, -1);
    work.trees = &trees;
    if (mkdir("w/a", 0755) | mkdir("w/a/open", 0755) | mkdir("w/other", 0755))
        return -1;
    put("w/a/open/x.key", "x");
    /* As a scan has it that does not end. */
    return pthread_mutex_lock(&trees.lock);
}

static int wait_tear_down(void **state)
{
    pthread_mutex_unlock(&trees.lock);
    guard_trees_done(&trees);
    guard_unref(TAKE_PTR(work.guard));
    root.guard = NULL;
    return work_tear_down(state);
}

static void assert_cancelled(enum op_id op, int r, struct err *err)
{
    assert_int_equal(work_result(&work, &op_table[op], r, err), -1);
    assert_int_equal(err->code, ERR_CANCELLED);
}

static void a_cancelled_call_does_not_wait_for_the_scan(void **state)
{
    (void)state;
    struct err err = {0};
    atomic_store(&cancelled, true);
    assert_cancelled(OP_MOVE, do_move("a", "other/b", &err), &err);
    work.gave_up = false;
    assert_cancelled(OP_DELETE, do_delete("a", &err), &err);
    work.gave_up = false;
    assert_cancelled(OP_READ, do_read("a/open/x.key", &err), &err);
    assert_true(work.gave_up);
    assert_true(is_there("w/a/open/x.key"));
    assert_false(is_there("w/other/b"));
}

static void *cancel_it(void *arg)
{
    (void)arg;
    atomic_store(&cancelled, true);
    return NULL;
}

static void nor_does_one_that_is_cancelled_while_it_waits(void **state)
{
    (void)state;
    struct err err = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_it, NULL), 0);
    assert_cancelled(OP_MOVE, do_move("a", "other/b", &err), &err);
    pthread_join(thread, NULL);
    assert_true(is_there("w/a/open/x.key"));
}

static void what_could_not_be_known_holds_for_this_call_only(void **state)
{
    (void)state;
    struct err err = {0};
    atomic_store(&cancelled, true);
    assert_int_equal(do_read("a/open/x.key", &err), -1);
    pthread_mutex_unlock(&trees.lock);
    work.gave_up = false;
    atomic_store(&cancelled, false);
    assert_int_equal(work_result(&work, &op_table[OP_READ], do_read("a/open/x.key", &err), &err),
                     0);
    assert_int_equal(pthread_mutex_lock(&trees.lock), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, wait_set_up, wait_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_cancelled_call_does_not_wait_for_the_scan),
        CASE(nor_does_one_that_is_cancelled_while_it_waits),
        CASE(what_could_not_be_known_holds_for_this_call_only),
    };
    return cmocka_run_group_tests_name("scan_wait", tests, NULL, NULL);
}
