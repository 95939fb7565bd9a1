#include <cmocka.h>

#include "base/mem.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "store/stats.h"
#include "random.h"
#include "store_parts.h"
#include "tools/all.h"

/* A call that has ended. */
static struct call *ended(const char *tool, int64_t ms)
{
    struct err err;
    struct call *call = call_new();
    call->dialect = dialect_find("native", &err);
    call->tool = registry_find(DIALECT_NATIVE, (struct str){tool, strlen(tool)}, &err);
    call->start_ns = 1000000;
    call->end_ns = call->start_ns + (uint64_t)ms * 1000000;
    return call;
}

static void count(struct stats *stats, struct call *call)
{
    stats_call(stats, call);
    call_free(call);
}

static void count_failed(struct stats *stats, const char *tool, enum err_code code,
                         const char *reason)
{
    struct call *call = ended(tool, 3);
    call->failed = true;
    err_set(&call->err, code, "x");
    err_reason(&call->err, reason);
    count(stats, call);
}

static void flushed(struct stats *stats, struct db *db, bool commit)
{
    struct err err;
    assert_int_equal(db_begin(db, 1000, &err), 0);
    if (stats_flush(stats, db, &err) < 0)
        fail_msg("%s", err.message);
    if (commit)
        assert_int_equal(db_commit(db, &err), 0);
    else
        db_rollback(db);
    stats_flushed(stats, commit);
}

static int add_line(void *arg, const char *name, const char *labels, int64_t value)
{
    buf_addf(arg, "%s{%s} %lld\n", name, labels, (long long)value);
    return 0;
}

static void expect(struct db *db, const char *expected)
{
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    assert_int_equal(stats_each(db, add_line, &out, &err), 0);
    const char *text = buf_text(&out);
    assert_string_equal(text ? text : "", expected);
}

static void sums_are_added(void **state)
{
    (void)state;
    struct db *db = store_open();
    struct stats *stats = stats_new();
    flushed(stats, db, true);
    expect(db, "");
    count(stats, ended("stat", 0));
    count(stats, ended("stat", 1));
    count(stats, ended("stat", 7));
    count(stats, ended("stat", 400000));
    count_failed(stats, "stat", ERR_POLICY_DENIED, "denied_by_rule");
    count_failed(stats, "stat", ERR_NOT_FOUND, "");
    count_failed(stats, "no \"such\"", ERR_UNKNOWN_TOOL, "");
    stats_approval(stats, APPROVAL_WAITING);
    stats_approval(stats, APPROVAL_TIMED_OUT);
    static const char expected[] =
        "approvals{event=\"asked\"} 1\n"
        "approvals{event=\"timed_out\"} 1\n"
        "calls{tool=\"stat\",dialect=\"native\",code=\"NOT_FOUND\"} 1\n"
        "calls{tool=\"stat\",dialect=\"native\",code=\"POLICY_DENIED\"} 1\n"
        "calls{tool=\"stat\",dialect=\"native\",code=\"ok\"} 4\n"
        "calls{tool=\"unknown\",dialect=\"native\",code=\"UNKNOWN_TOOL\"} 1\n"
        "denials{reason=\"denied_by_rule\"} 1\n"
        "duration_bucket{tool=\"stat\",le=\"00\"} 2\n"
        "duration_bucket{tool=\"stat\",le=\"02\"} 2\n"
        "duration_bucket{tool=\"stat\",le=\"03\"} 1\n"
        "duration_bucket{tool=\"stat\",le=\"13\"} 1\n"
        "duration_bucket{tool=\"unknown\",le=\"02\"} 1\n"
        "duration_ms{tool=\"stat\"} 400014\n"
        "duration_ms{tool=\"unknown\"} 3\n";
    /* What was not committed comes again. */
    flushed(stats, db, false);
    expect(db, "");
    flushed(stats, db, true);
    expect(db, expected);
    /* And once is enough. */
    flushed(stats, db, true);
    expect(db, expected);
    stats_free(stats);
    /* Another gate adds to it. */
    stats = stats_new();
    stats_approval(stats, APPROVAL_WAITING);
    flushed(stats, db, true);
    stats_free(stats);
    BUF_AT_END struct buf two = BUF_INIT(4096);
    buf_addf(&two, "approvals{event=\"asked\"} 2\n%s", strchr(expected, '\n') + 1);
    expect(db, buf_text(&two));
    db_close(db);
}

/* Whatever came before it, each call is counted where it belongs. */
static void calls_of_all_kinds_in_any_order(void **state)
{
    (void)state;
    static const char *const tools[] = {"stat", "read_file", "nothing"};
    static const int64_t times[] = {0, 3, 40};
    random_begin();
    struct db *db = store_open();
    struct stats *stats = stats_new();
    int64_t good[2] = {0};
    int64_t bad[3] = {0};
    int64_t ms[3] = {0};
    int64_t slow = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t tool = random_below(3);
        int64_t time = times[random_below(3)];
        if (tool == 2 || random_below(4) == 0) {
            count_failed(stats, tools[tool], tool == 2 ? ERR_UNKNOWN_TOOL : ERR_NOT_FOUND, "");
            bad[tool]++;
            time = 3;
        } else {
            count(stats, ended(tools[tool], time));
            good[tool]++;
        }
        ms[tool] += time;
        slow += tool == 0 && time == 40;
        if (random_below(1000) == 0)
            flushed(stats, db, true);
    }
    flushed(stats, db, true);
    BUF_AT_END struct buf expected = BUF_INIT(4096);
    for (int i = 1; i >= 0; i--) {
        buf_addf(&expected, "%lld %lld ", (long long)good[i], (long long)bad[i]);
        buf_addf(&expected, "%lld ", (long long)ms[i]);
    }
    buf_addf(&expected, "%lld %lld", (long long)bad[2], (long long)slow);
    BUF_AT_END struct buf found = BUF_INIT(4096);
    static const char *const names[] = {
        "calls{tool=\"read_file\",dialect=\"native\",code=\"ok\"}",
        "calls{tool=\"read_file\",dialect=\"native\",code=\"NOT_FOUND\"}",
        "duration_ms{tool=\"read_file\"}",
        "calls{tool=\"stat\",dialect=\"native\",code=\"ok\"}",
        "calls{tool=\"stat\",dialect=\"native\",code=\"NOT_FOUND\"}",
        "duration_ms{tool=\"stat\"}",
        "calls{tool=\"unknown\",dialect=\"native\",code=\"UNKNOWN_TOOL\"}",
        "duration_bucket{tool=\"stat\",le=\"05\"}",
    };
    struct err err;
    BUF_AT_END struct buf all = BUF_INIT(1u << 20);
    assert_int_equal(stats_each(db, add_line, &all, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *at = strstr(buf_text(&all), names[i]);
        if (!at)
            fail_msg("%s is not in\n%s", names[i], buf_text(&all));
        buf_addf(&found, "%s%lld", i ? " " : "", atoll(at + strlen(names[i])));
    }
    assert_string_equal(buf_text(&found), buf_text(&expected));
    stats_free(stats);
    db_close(db);
}

static void without_sums_nothing_happens(void **state)
{
    (void)state;
    struct db *db = store_open();
    struct err err;
    stats_approval(NULL, APPROVAL_DENIED);
    stats_flushed(NULL, true);
    assert_int_equal(stats_flush(NULL, db, &err), 0);
    stats_free(NULL);
    db_close(db);
}

int main(void)
{
    registry_use(tools_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_are_added, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(calls_of_all_kinds_in_any_order, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(without_sums_nothing_happens, folder_set_up,
                                        folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
