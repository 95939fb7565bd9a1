/* Links with secret names that lead out of the root: how many there may be, and what becomes of them. */
#include <cmocka.h>
#include <fcntl.h>

#include "work/guard_trees.h"
#include "work_parts.h"

static struct guard_trees trees;

static int outward_set_up(void **state)
{
    static const char rules[] = "S*.key";
    struct err err;
    if (work_set_up(state) < 0)
        return -1;
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    guard_trees_init(&trees, -1);
    work.trees = &trees;
    return work.guard ? 0 : -1;
}

static int outward_tear_down(void **state)
{
    guard_trees_done(&trees);
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

static void link_all(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        FREE_AT_END char *path = mem_format("w/%u.key", i);
        put_link(path, "../../nowhere/at/all");
    }
}

static void unlink_all(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        FREE_AT_END char *path = mem_format("w/%u.key", i);
        assert_int_equal(unlink(path), 0);
    }
}

/* How many are to be told; -1: no command may start. */
static int64_t scan(struct err *err)
{
    union op_request q = {.scan = {.path = STR("."), .max_entries = 100000, .max_guarded = 20000}};
    union op_reply reply = {0};
    buf_reset(&work.body, 16u << 20);
    return work_scan(&work, &q, STR(""), &reply, err) < 0 ? -1 : reply.scan.outward;
}

static int64_t take_some(bool again, struct err *err)
{
    union op_request q = {.leads = {.path = STR("."), .take = true, .again = again}};
    union op_reply reply = {0};
    buf_reset(&work.body, 16u << 20);
    return work_leads(&work, &q, STR(""), &reply, err) < 0 ? -1 : reply.leads.count;
}

static int64_t take(struct err *err)
{
    return take_some(false, err);
}

static int give(struct str leads, struct err *err)
{
    union op_request q = {.leads = {.path = STR(".")}};
    union op_reply reply = {0};
    return work_leads(&work, &q, leads, &reply, err);
}

static void assert_refused(const struct err *err, const char *part)
{
    assert_int_equal(err->code, ERR_TOO_LARGE);
    if (!strstr(err->message, part) || !strstr(err->message, "lead out of"))
        fail_msg("%s", err->message);
}

static void too_many_are_refused_until_some_are_removed(void **state)
{
    (void)state;
    struct err err = {0};
    link_all(0, OUTWARD_MAX + 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(scan(&err), -1);
        assert_refused(&err, "2001 links");
    }
    unlink_all(3, OUTWARD_MAX + 1);
    assert_int_equal(scan(&err), 3);
    assert_int_equal(take(&err), 3);
    assert_int_equal(scan(&err), 0);
}

static void their_paths_may_be_long(void **state)
{
    (void)state;
    struct err err = {0};
    char folder_path[240] = "w/";
    memset(folder_path + 2, 'x', 200);
    assert_int_equal(mkdir(folder_path, 0755), 0);
    for (size_t depth = 0; depth < 2; depth++) {
        FREE_AT_END char *deep = mem_format("%s/%s%s%s", folder_path, folder_path + 2,
                                            depth ? "/" : "", depth ? folder_path + 2 : "");
        assert_int_equal(mkdir(deep, 0755), 0);
    }
    for (unsigned i = 0; i < OUTWARD_MAX; i++) {
        FREE_AT_END char *path = mem_format("%s/%s/%s/%u.key", folder_path, folder_path + 2,
                                            folder_path + 2, i);
        put_link(path, "../../../../../nowhere");
    }
    assert_int_equal(scan(&err), -1);
    assert_refused(&err, "2000 links");
    assert_refused(&err, "1024 KiB");
}

/* Who took them and could not follow them asks again. */
static void they_are_told_again(void **state)
{
    (void)state;
    struct err err = {0};
    link_all(0, 3);
    assert_int_equal(scan(&err), 3);
    assert_int_equal(take(&err), 3);
    link_all(3, 5);
    assert_int_equal(scan(&err), 2);
    assert_int_equal(take_some(true, &err), 5);
    assert_int_equal(scan(&err), 0);
    assert_int_equal(take(&err), 0);
}

static void a_damaged_list_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(give(STR("\x01"), &err), -1);
    assert_int_equal(scan(&err), -1);
}

/* Those that are gone do not count, however many there were. */
static void only_those_that_are_there_count(void **state)
{
    (void)state;
    struct err err = {0};
    for (unsigned i = 0; i < 4; i++) {
        link_all(i * 1000, i * 1000 + 1000);
        if (scan(&err) != 1000 || take(&err) != 1000 || scan(&err) != 0)
            fail_msg("round %u: %s", i, err.message);
        unlink_all(i * 1000, i * 1000 + 1000);
    }
    link_all(0, 1);
    assert_int_equal(scan(&err), 1);
}

/* A scan that follows is refused, once: the one after it tells all of them again. */
static void too_many_that_come_back_are_refused(void **state)
{
    (void)state;
    struct err err = {0};
    BUF_AT_END struct buf leads = BUF_INIT(1 << 20);
    link_all(0, 2);
    assert_int_equal(scan(&err), 2);
    assert_int_equal(take(&err), 2);
    for (unsigned i = 0; i <= OUTWARD_MAX; i++) {
        char path[32];
        int n = snprintf(path, sizeof path, "back/%u", i);
        op_lead_add(&leads, &(struct op_lead){GUARDED_SECRET, {path, (size_t)n}});
    }
    assert_int_equal(give(buf_str(&leads), &err), -1);
    assert_refused(&err, "links");
    assert_int_equal(scan(&err), -1);
    assert_refused(&err, "links");
    assert_int_equal(scan(&err), 2);
}

/* A lead that is told twice comes back twice. */
static void what_comes_back_again_counts_once(void **state)
{
    (void)state;
    struct err err = {0};
    BUF_AT_END struct buf leads = BUF_INIT(1 << 20);
    put("w/real", "x");
    op_lead_add(&leads, &(struct op_lead){GUARDED_SECRET, STR("real")});
    for (unsigned i = 0; i <= OUTWARD_MAX; i++)
        assert_int_equal(give(buf_str(&leads), &err), 0);
    assert_int_equal(scan(&err), 0);
    struct op_guarded entry;
    struct str rest = buf_str(&work.body);
    assert_int_equal(op_guarded_next(&rest, &entry), 1);
    assert_true(str_is(entry.path, "real"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, outward_set_up, outward_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(too_many_are_refused_until_some_are_removed),
        CASE(their_paths_may_be_long),
        CASE(they_are_told_again),
        CASE(a_damaged_list_is_refused),
        CASE(only_those_that_are_there_count),
        CASE(too_many_that_come_back_are_refused),
        CASE(what_comes_back_again_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
