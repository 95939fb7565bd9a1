#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "random.h"
#include "store/counters.h"
#include "store_parts.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z, a Sunday */

static struct db *db;

static int set_up(void **state)
{
    if (folder_set_up(state) < 0)
        return -1;
    db = store_open();
    return 0;
}

static int tear_down(void **state)
{
    db_close(db);
    return folder_tear_down(state);
}

static char rate_key[] = "rate";
static char budget_key[] = "budget";

static struct charge rate(int64_t limit, int64_t window_ms)
{
    return (struct charge){.key = rate_key,
                           .rule = "policy.rateLimits.bash",
                           .limit = limit,
                           .window_ms = window_ms,
                           .amount = 1};
}

static struct charge budget(enum charge_unit unit, int64_t limit, int64_t amount)
{
    return (struct charge){.key = budget_key,
                           .rule = "policy.budgets[2]",
                           .limit = limit,
                           .unit = unit,
                           .amount = amount};
}

/* Looks first: both must say the same, and looking must not write. */
static int take(struct charge *charges, size_t n, int64_t now, struct err *err)
{
    struct err looked = {0};
    *err = (struct err){0};
    int expected = counters_look(db, charges, n, now, NULL, &looked);
    store_begin(db);
    int r = counters_take(db, charges, n, now, err);
    store_commit(db);
    assert_int_equal(r, expected);
    assert_int_equal(err->code, looked.code);
    assert_string_equal(err->message, looked.message);
    assert_string_equal(err->reason, looked.reason);
    assert_int_equal(err->retry_after_ms, looked.retry_after_ms);
    return r;
}

static void assert_taken(struct charge charge, int64_t now)
{
    struct err err;
    if (take(&charge, 1, now, &err) < 0)
        fail_msg("%s", err.message);
}

static struct err assert_refused(struct charge charge, int64_t now, enum err_code code)
{
    struct err err;
    assert_int_equal(take(&charge, 1, now, &err), -1);
    assert_int_equal(err.code, code);
    return err;
}

static int64_t used(struct charge charge, int64_t now)
{
    int64_t value = -1;
    struct err err;
    (void)counters_look(db, &charge, 1, now, &value, &err);
    return value;
}

/* --- periods */

static int is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static void assert_period(enum charge_period period, int64_t now, int64_t since, int64_t next)
{
    int64_t a;
    int64_t b;
    period_around(period, now, &a, &b);
    assert_int_equal(a, since);
    assert_int_equal(b, next);
}

/* Day by day from 1970 to 2100, counted as people count. */
static void periods_are_those_of_the_calendar(void **state)
{
    (void)state;
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day = 0;
    int64_t monday = -3 * DAY;
    for (int year = 1970; year <= 2100; year++) {
        for (int month = 0; month < 12; month++) {
            int length = lengths[month] + (month == 1 && is_leap(year));
            int64_t first = day;
            for (int i = 0; i < length; i++, day += DAY) {
                if (day - monday == 7 * DAY)
                    monday = day;
                int64_t in_it[] = {day, day + 1, day + (int64_t)random_below(DAY), day + DAY - 1};
                for (size_t k = 0; k < ARRAY_LEN(in_it); k++) {
                    assert_period(PERIOD_DAILY, in_it[k], day, day + DAY);
                    assert_period(PERIOD_WEEKLY, in_it[k], monday, monday + 7 * DAY);
                    assert_period(PERIOD_MONTHLY, in_it[k], first, first + length * DAY);
                }
            }
        }
    }
    assert_int_equal(day, INT64_C(4133980800000)); /* 2101-01-01, as Python has it */
}

static void periods_of_odd_times_stay_in_bounds(void **state)
{
    (void)state;
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, -DAY, -DAY - 1, INT64_MIN + 1};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        for (int period = PERIOD_DAILY; period <= PERIOD_MONTHLY; period++) {
            int64_t since;
            int64_t next;
            period_around((enum charge_period)period, odd[i], &since, &next);
            assert_true(since < next);
        }
    }
    assert_period(PERIOD_DAILY, -1, -DAY, 0);
    assert_period(PERIOD_MONTHLY, -1, -31 * DAY, 0);
    assert_period(PERIOD_WEEKLY, -1, -3 * DAY, 4 * DAY);
}

/* --- sliding windows */

static void a_window_slides(void **state)
{
    (void)state;
    struct charge c = rate(3, 60 * SECOND);
    assert_taken(c, NOON);
    assert_taken(c, NOON + 100);
    assert_taken(c, NOON + 200);
    assert_int_equal(used(c, NOON + 200), 3);
    struct err err = assert_refused(c, NOON + 300, ERR_RATE_LIMITED);
    assert_int_equal(err.retry_after_ms, 60 * SECOND - 300);
    assert_string_equal(err.reason, "rate_limit");
    assert_string_equal(err.message, "the rule policy.rateLimits.bash allows 3 calls in 60 s and "
                                     "that many were made: try again in 59700 ms");
    err = assert_refused(c, NOON + 60 * SECOND - 1, ERR_RATE_LIMITED);
    assert_int_equal(err.retry_after_ms, 1);
    assert_taken(c, NOON + 60 * SECOND);
    assert_int_equal(used(c, NOON + 60 * SECOND), 3);
    err = assert_refused(c, NOON + 60 * SECOND, ERR_RATE_LIMITED);
    assert_int_equal(err.retry_after_ms, 100);
    assert_int_equal(used(c, NOON + 600 * SECOND), 0);
}

static void a_limit_of_nothing_lets_nothing_through(void **state)
{
    (void)state;
    static const int64_t limits[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct err err = assert_refused(rate(limits[i], SECOND), NOON, ERR_RATE_LIMITED);
        assert_int_equal(err.retry_after_ms, 0);
        assert_non_null(strstr(err.message, "allows no calls"));
    }
    assert_taken(rate(INT64_MAX, INT64_MAX), NOON);
    assert_taken(rate(INT64_MAX, 1), NOON + 1);
}

/* Against a list of all times, with limits and windows that the operator changes in between. */
static void windows_agree_with_a_list(void **state)
{
    (void)state;
    unsigned steps = random_rounds(10000);
    int64_t *times = mem_zero(steps * sizeof *times);
    size_t n = 0;
    int64_t now = NOON;
    int64_t limit = 5;
    int64_t window = 1000;
    for (unsigned i = 0; i < steps; i++) {
        if (random_below(500) == 0) {
            limit = 1 + (int64_t)random_below(random_below(2) ? 5 : 200);
            window = 1 + (int64_t)random_below(5000);
            now += 5001; /* what an old, lower limit did not keep is out of every window */
        }
        now += random_below(4) ? (int64_t)random_below(3) : (int64_t)random_below(2 * 1000);
        struct charge c = rate(limit, window);
        int64_t within = 0;
        for (size_t k = n; k > 0 && times[k - 1] > now - window; k--)
            within++;
        assert_int_equal(used(c, now), within);
        struct err err;
        if (within < limit) {
            assert_taken(c, now);
            times[n++] = now;
            continue;
        }
        assert_int_equal(take(&c, 1, now, &err), -1);
        int64_t again = times[n - (size_t)limit] + window;
        assert_int_equal(err.retry_after_ms, again - now);
        /* Not a moment before, and then at once. */
        if (random_below(3) == 0) {
            assert_int_equal(take(&c, 1, again - 1, &err), -1);
            assert_int_equal(err.retry_after_ms, 1);
            assert_taken(c, again);
            times[n++] = now = again;
        }
    }
    assert_in_range(n, steps / 10, steps);
    free(times);
}

static void only_as_many_rows_as_the_limit_are_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        assert_taken(rate(300, SECOND), NOON + i);
    assert_int_equal(store_number(db, "SELECT count(*) FROM rate_call"), 300);
    /* A lower limit: a bounded number goes with each call, until it is reached. */
    int64_t before = 300;
    for (int i = 0; i < 10; i++) {
        assert_taken(rate(10, SECOND), NOON + DAY + i * SECOND);
        int64_t rows = store_number(db, "SELECT count(*) FROM rate_call");
        assert_true(before - rows <= 64);
        before = rows;
    }
    assert_int_equal(before, 10);
    assert_int_equal(store_number(db, "SELECT n FROM rate_key"), 310);
    /* A higher one again. */
    assert_taken(rate(50, DAY), NOON + 2 * DAY);
    assert_int_equal(store_number(db, "SELECT count(*) FROM rate_call"), 11);
}

/* --- budgets */

static void a_budget_starts_anew(void **state)
{
    (void)state;
    struct charge c = budget(CHARGE_CALLS, 100, 1);
    for (int i = 0; i < 100; i++)
        assert_taken(c, NOON + i);
    struct err err = assert_refused(c, NOON + 100, ERR_BUDGET_EXCEEDED);
    assert_string_equal(err.message,
                        "the rule policy.budgets[2] allows 100 calls daily and 100 are "
                        "used: it starts anew at 2026-11-16T00:00:00Z");
    assert_string_equal(err.reason, "budget_used");
    assert_int_equal(err.retry_after_ms, 12 * HOUR - 100);
    assert_refused(c, NOON + 12 * HOUR - 1, ERR_BUDGET_EXCEEDED);
    assert_int_equal(used(c, NOON + 12 * HOUR - 1), 100);
    assert_int_equal(used(c, NOON + 12 * HOUR), 0);
    assert_taken(c, NOON + 12 * HOUR);
    assert_int_equal(used(c, NOON + 12 * HOUR), 1);
}

static void each_period_has_its_end(void **state)
{
    (void)state;
    static const struct {
        enum charge_period period;
        const char *words;
        int64_t next;
    } cases[] = {
        {PERIOD_DAILY, "daily and 1 are used: it starts anew at 2026-11-16T00:00:00Z", 12 * HOUR},
        {PERIOD_WEEKLY, "weekly and 1 are used: it starts anew at 2026-11-16T00:00:00Z", 12 * HOUR},
        {PERIOD_MONTHLY, "monthly and 1 are used: it starts anew at 2026-12-01T00:00:00Z",
         15 * DAY + 12 * HOUR},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct charge c = budget(CHARGE_CALLS, 1, 1);
        char key[] = {'k', (char)('0' + i), '\0'};
        c.key = key;
        c.period = cases[i].period;
        assert_taken(c, NOON);
        struct err err = assert_refused(c, NOON, ERR_BUDGET_EXCEEDED);
        assert_non_null(strstr(err.message, cases[i].words));
        assert_int_equal(err.retry_after_ms, cases[i].next);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct charge c = budget(CHARGE_CALLS, 1, 1);
        char key[] = {'k', (char)('0' + i), '\0'};
        c.key = key;
        c.period = cases[i].period;
        int64_t then = used(c, NOON + cases[i].next);
        assert_int_equal(then, 0);
        assert_int_equal(used(c, NOON + cases[i].next - 1), 1);
    }
}

static void messages_have_the_units_of_the_configuration(void **state)
{
    (void)state;
    assert_taken(budget(CHARGE_MS, 90500, 80250), NOON);
    struct err err = assert_refused(budget(CHARGE_MS, 90500, 30000), NOON, ERR_BUDGET_EXCEEDED);
    assert_non_null(strstr(err.message, "allows 90.5 seconds daily and 80.25 are used, this call "
                                        "may use 30: it starts anew"));
    err = assert_refused(budget(CHARGE_BYTES_WRITTEN, 5, 9), NOON + DAY, ERR_BUDGET_EXCEEDED);
    assert_string_equal(err.message,
                        "the rule policy.budgets[2] allows 5 bytes written daily and this call may "
                        "use 9, more than it can ever have: make it smaller");
    assert_string_equal(err.reason, "budget_too_small");
    assert_int_equal(err.retry_after_ms, 0);
    err = assert_refused(budget(CHARGE_MONEY, 1000001, 2500000), NOON, ERR_BUDGET_EXCEEDED);
    assert_non_null(strstr(err.message, "allows 1.000001 of money daily"));
    assert_non_null(strstr(err.message, "use 2.5,"));
}

static void large_amounts_do_not_overflow(void **state)
{
    (void)state;
    assert_taken(budget(CHARGE_NETWORK_BYTES, INT64_MAX, INT64_MAX - 1), NOON);
    assert_refused(budget(CHARGE_NETWORK_BYTES, INT64_MAX, INT64_MAX), NOON, ERR_BUDGET_EXCEEDED);
    assert_refused(budget(CHARGE_NETWORK_BYTES, INT64_MAX, 2), NOON, ERR_BUDGET_EXCEEDED);
    assert_taken(budget(CHARGE_NETWORK_BYTES, INT64_MAX, 1), NOON);
    assert_int_equal(used(budget(CHARGE_NETWORK_BYTES, INT64_MAX, 0), NOON), INT64_MAX);
    assert_taken(budget(CHARGE_NETWORK_BYTES, INT64_MAX, 0), NOON);
    assert_refused(budget(CHARGE_NETWORK_BYTES, INT64_MAX, 1), NOON, ERR_BUDGET_EXCEEDED);
    /* A limit that became lower than what is spent. */
    assert_refused(budget(CHARGE_NETWORK_BYTES, 10, 0), NOON, ERR_BUDGET_EXCEEDED);
    struct err err = assert_refused(budget(CHARGE_CALLS, 10, -1), NOON, ERR_INTERNAL);
    assert_non_null(strstr(err.message, "policy.budgets[2]"));
}

static void settle(struct charge *c, int64_t what)
{
    struct err err;
    store_begin(db);
    assert_int_equal(counters_settle(db, c, what, &err), 0);
    store_commit(db);
}

static void what_was_not_used_is_given_back(void **state)
{
    (void)state;
    struct err err;
    struct charge c = budget(CHARGE_BYTES_WRITTEN, 100, 60);
    assert_int_equal(take(&c, 1, NOON, &err), 0);
    assert_int_equal(c.since_ms, NOON - 12 * HOUR);
    assert_refused(budget(CHARGE_BYTES_WRITTEN, 100, 60), NOON, ERR_BUDGET_EXCEEDED);
    settle(&c, 10);
    assert_int_equal(used(c, NOON), 10);
    struct charge d = budget(CHARGE_BYTES_WRITTEN, 100, 60);
    assert_int_equal(take(&d, 1, NOON, &err), 0);
    /* More than was taken counts too, even beyond the limit and all numbers. */
    settle(&d, 200);
    assert_int_equal(used(c, NOON), 210);
    settle(&d, INT64_MAX);
    assert_int_equal(used(c, NOON), INT64_MAX);
    settle(&d, 60);
    assert_int_equal(used(c, NOON), INT64_MAX);
    /* Nothing is given back to a period that is over. */
    struct charge e = budget(CHARGE_BYTES_WRITTEN, 100, 30);
    assert_int_equal(take(&e, 1, NOON + DAY, &err), 0);
    settle(&c, 0);
    assert_int_equal(used(e, NOON + DAY), 30);
    settle(&c, 65);
    assert_int_equal(used(e, NOON + DAY), 35);
    /* Never below nothing; a rate keeps what it has. */
    assert_int_equal(counters_reset(db, &err), 0);
    settle(&e, 0);
    struct charge r = rate(5, SECOND);
    assert_taken(r, NOON);
    settle(&r, 0);
    assert_int_equal(used(r, NOON), 1);
}

/* --- several at once */

static void all_or_none(void **state)
{
    (void)state;
    struct err err;
    char other_key[] = "other";
    struct charge all[] = {rate(10, 60 * SECOND), budget(CHARGE_CALLS, 2, 1),
                           budget(CHARGE_BYTES_WRITTEN, 100, 40)};
    all[2].key = other_key;
    assert_int_equal(take(all, 3, NOON, &err), 0);
    assert_int_equal(take(all, 3, NOON, &err), 0);
    assert_int_equal(take(all, 3, NOON, &err), -1);
    assert_int_equal(err.code, ERR_BUDGET_EXCEEDED);
    int64_t held[3];
    assert_int_equal(counters_look(db, all, 3, NOON, held, &err), -1);
    assert_int_equal(held[0], 2);
    assert_int_equal(held[1], 2);
    assert_int_equal(held[2], 80);
    assert_int_equal(take(NULL, 0, NOON, &err), 0);
}

/* The time that is told is when all of them fit. */
static void the_longest_wait_is_told(void **state)
{
    (void)state;
    struct err err;
    char slow_key[] = "slow";
    struct charge all[] = {rate(1, 10 * SECOND), rate(1, 50 * SECOND), budget(CHARGE_CALLS, 5, 1)};
    all[1].key = slow_key;
    assert_int_equal(take(all, 3, NOON, &err), 0);
    assert_int_equal(take(all, 3, NOON + 1, &err), -1);
    assert_int_equal(err.retry_after_ms, 50 * SECOND - 1);
    assert_int_equal(take(all, 3, NOON + 50 * SECOND - 1, &err), -1);
    assert_int_equal(take(all, 3, NOON + 50 * SECOND, &err), 0);
    all[2].limit = 2;
    assert_int_equal(take(all, 3, NOON + 50 * SECOND, &err), -1);
    assert_int_equal(err.code, ERR_BUDGET_EXCEEDED);
}

/* Two rules may share a counter. */
static void the_same_counter_twice_in_one_call(void **state)
{
    (void)state;
    struct err err;
    struct charge two[] = {budget(CHARGE_CALLS, 5, 2), budget(CHARGE_CALLS, 5, 2)};
    assert_int_equal(take(two, 2, NOON, &err), 0);
    assert_int_equal(used(two[0], NOON), 4);
    assert_int_equal(take(two, 2, NOON, &err), -1);
    assert_int_equal(used(two[0], NOON), 4);
    struct charge rates[] = {rate(3, SECOND), rate(3, SECOND)};
    assert_int_equal(take(rates, 2, NOON, &err), 0);
    assert_int_equal(take(rates, 2, NOON, &err), -1);
    assert_int_equal(err.retry_after_ms, SECOND);
    assert_int_equal(used(rates[0], NOON), 2);
    assert_int_equal(take(rates, 1, NOON, &err), 0);
    struct charge three[] = {rate(2, SECOND), rate(2, SECOND), rate(2, SECOND)};
    assert_int_equal(take(three, 3, NOON + DAY, &err), -1);
    assert_int_equal(err.retry_after_ms, 0);
}

/* --- the clock */

static void a_clock_that_went_back_refuses(void **state)
{
    (void)state;
    struct charge c = rate(3, 60 * SECOND);
    assert_taken(c, NOON);
    struct err err = assert_refused(c, NOON - CLOCK_SLACK_MS - 1, ERR_POLICY_DENIED);
    assert_string_equal(err.reason, "clock_went_back");
    assert_non_null(strstr(err.message, "2026-11-15T11:59:54.999Z"));
    assert_non_null(strstr(err.message, "2026-11-15T12:00:00Z"));
    assert_non_null(strstr(err.message, "`sandgate policy reset`"));
    assert_refused(budget(CHARGE_CALLS, 9, 1), INT64_MIN + 1, ERR_POLICY_DENIED);
    /* Within the slack it is the same time: nothing is gained by it. */
    assert_taken(c, NOON - CLOCK_SLACK_MS);
    assert_taken(c, NOON - 1);
    assert_int_equal(used(c, NOON), 3);
    err = assert_refused(c, NOON - 1000, ERR_RATE_LIMITED);
    assert_int_equal(err.retry_after_ms, 61 * SECOND);
    assert_refused(c, NOON + 60 * SECOND - 1, ERR_RATE_LIMITED);
    assert_taken(c, NOON + 60 * SECOND);
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), NOON + 60 * SECOND);
    assert_int_equal(counters_reset(db, &err), 0);
    assert_taken(c, NOON - DAY);
    assert_int_equal(used(c, NOON - DAY), 1);
}

/* A refusal is no call: it does not move the clock either. */
static void refused_calls_leave_no_trace(void **state)
{
    (void)state;
    struct err err;
    struct charge c = budget(CHARGE_CALLS, 1, 1);
    assert_taken(c, NOON);
    unsigned version = db_version(db);
    struct db *other = store_open();
    store_begin(other);
    assert_int_equal(counters_take(other, &c, 1, NOON + HOUR, &err), -1);
    store_commit(other);
    db_close(other);
    assert_int_equal(db_version(db), version);
    assert_int_equal(store_number(db, "SELECT seen_ms FROM clock"), NOON);
}

/* A clock around midnight that is a little behind does not open yesterday's budget again. */
static void a_new_day_stays_a_new_day(void **state)
{
    (void)state;
    struct charge c = budget(CHARGE_CALLS, 2, 1);
    assert_taken(c, NOON + 12 * HOUR);
    assert_taken(c, NOON + 12 * HOUR - 1);
    struct err err = assert_refused(c, NOON + 12 * HOUR - 1, ERR_BUDGET_EXCEEDED);
    assert_int_equal(err.retry_after_ms, DAY + 1);
}

/* --- failures */

static void needs_a_transaction(void **state)
{
    (void)state;
    struct err err = {0};
    struct charge c = budget(CHARGE_CALLS, 2, 1);
    assert_int_equal(counters_take(db, &c, 1, NOON, &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_int_equal(counters_settle(db, &c, 0, &err), -1);
    assert_int_equal(used(c, NOON), 0);
}

static void nonsense_in_the_file_refuses(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "DELETE FROM clock",          "UPDATE budget SET spent = -1",
        "UPDATE rate_key SET n = -1", "UPDATE rate_key SET n = 9223372036854775807",
        "DROP TABLE budget",
    };
    struct err err;
    struct charge both[] = {rate(5, SECOND), budget(CHARGE_CALLS, 50, 1)};
    for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
        db_close(db);
        unlink("state.db");
        unlink("state.db-wal");
        unlink("state.db-shm");
        db = store_open();
        assert_int_equal(take(both, 2, NOON, &err), 0);
        store_run_sql("state.db", nonsense[i]);
        store_begin(db);
        assert_int_equal(counters_take(db, both, 2, NOON, &err), -1);
        assert_int_equal(err.code, ERR_INTERNAL);
        assert_non_null(strstr(err.message, "state.db"));
        db_rollback(db);
    }
}

/* Without room the second charge fails where the first was written already. */
static void a_full_file_takes_nothing(void **state)
{
    (void)state;
    struct err err = {0};
    char a[2000];
    char b[2000];
    char limit[64];
    struct charge both[] = {rate(5, SECOND), budget(CHARGE_CALLS, 50, 1)};
    both[0].key = a;
    both[1].key = b;
    snprintf(limit, sizeof limit, "PRAGMA max_page_count = %lld",
             (long long)store_number(db, "PRAGMA page_count") + 30);
    store_number(db, limit);
    int taken = 0;
    for (;; taken++) {
        snprintf(a, sizeof a, "%d %01000d", taken, 1);
        snprintf(b, sizeof b, "%d %01900d", taken, 1);
        store_begin(db);
        int r = counters_take(db, both, 2, NOON, &err);
        /* Even who does not care about the failure cannot commit half of it. */
        assert_int_equal(db_commit(db, &(struct err){0}), r);
        if (r < 0)
            break;
    }
    assert_int_equal(err.code, ERR_DISK_FULL);
    assert_in_range(taken, 5, 100);
    assert_int_equal(store_number(db, "SELECT count(*) FROM rate_key"), taken);
    assert_int_equal(store_number(db, "SELECT count(*) FROM rate_call"), taken);
    assert_int_equal(store_number(db, "SELECT count(*) FROM budget"), taken);
}

/* Times that nobody can have written do no harm but to their own counter. */
static void odd_times_in_the_file_are_only_numbers(void **state)
{
    (void)state;
    struct err err;
    struct charge c = rate(1, SECOND);
    assert_taken(c, NOON);
    store_run_sql("state.db", "UPDATE rate_call SET at_ms = 9223372036854775807");
    assert_int_equal(take(&c, 1, NOON, &err), -1);
    store_run_sql("state.db", "UPDATE rate_call SET at_ms = -9223372036854775807 - 1");
    assert_taken(c, NOON);
    store_run_sql("state.db", "UPDATE clock SET seen_ms = 9223372036854775807");
    assert_int_equal(take(&c, 1, NOON, &err), -1);
    assert_string_equal(err.reason, "clock_went_back");
    store_run_sql("state.db", "UPDATE clock SET seen_ms = -9223372036854775807 - 1");
    assert_taken(c, NOON + SECOND);
}

/* Names of sessions come and go; their counters must not stay for ever. */
static void old_counters_are_forgotten(void **state)
{
    (void)state;
    struct err err;
    char a[32];
    char b[32];
    struct charge both[] = {rate(5, SECOND), budget(CHARGE_CALLS, 50, 1)};
    both[0].key = a;
    both[1].key = b;
    int64_t most = 0;
    store_begin(db);
    for (int i = 0; i < 3000; i++) {
        snprintf(a, sizeof a, "rate of session %d", i);
        snprintf(b, sizeof b, "budget of session %d", i);
        assert_int_equal(counters_take(db, both, 2, NOON + i * HOUR, &err), 0);
        int64_t rows = store_number(db, "SELECT max((SELECT count(*) FROM rate_key), (SELECT "
                                        "count(*) FROM budget))");
        most = rows > most ? rows : most;
    }
    store_commit(db);
    assert_in_range(most, 20, 300);
    /* What still counts is there: the budgets of this day. */
    int64_t since;
    int64_t next;
    period_around(PERIOD_DAILY, NOON + 2999 * HOUR, &since, &next);
    int64_t today = (NOON + 2999 * HOUR - since) / HOUR + 1;
    assert_int_equal(store_number(db,
                                  "SELECT count(*) FROM budget WHERE until_ms > (SELECT seen_ms "
                                  "FROM clock)"),
                     today);
}

/* --- several processes */

#define GATES 8

struct hammer {
    struct charge charge;
    int fd; /* a byte for each call that was let through */
};

static int hammer(void *arg)
{
    const struct hammer *h = arg;
    struct db *own;
    struct err err;
    struct charge c = h->charge;
    if (db_open(&own, folder_fd, false, &err) < 0)
        return 1;
    for (;;) {
        if (db_begin(own, 60000, &err) != 0)
            return 2;
        int r = counters_take(own, &c, 1, NOON, &err);
        if (db_commit(own, &err) < 0)
            return 3;
        if (r < 0)
            break;
        if (write(h->fd, "x", 1) != 1)
            return 4;
    }
    db_close(own);
    return err.code == ERR_RATE_LIMITED || err.code == ERR_BUDGET_EXCEEDED ? 0 : 5;
}

static int64_t count_bytes(int fd)
{
    char room[65536];
    int64_t sum = 0;
    ssize_t n;
    while ((n = read(fd, room, sizeof room)) > 0)
        sum += n;
    return sum;
}

static int64_t hammer_with_all(struct charge charge)
{
    pid_t pids[GATES];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct hammer h = {charge, ends[1]};
    for (size_t i = 0; i < GATES; i++)
        pids[i] = store_fork(hammer, &h);
    close(ends[1]);
    int64_t through = count_bytes(ends[0]);
    for (size_t i = 0; i < GATES; i++)
        assert_int_equal(store_wait(pids[i]), 0);
    close(ends[0]);
    return through;
}

static void gates_at_once_get_exactly_the_limit(void **state)
{
    (void)state;
    assert_int_equal(hammer_with_all(rate(777, HOUR)), 777);
    assert_int_equal(used(rate(777, HOUR), NOON), 777);
    assert_int_equal(hammer_with_all(budget(CHARGE_BYTES_WRITTEN, 5000, 7)), 5000 / 7);
    assert_int_equal(used(budget(CHARGE_CALLS, 1, 1), NOON), 5000 / 7 * 7);
}

/* What a gate took before it was killed stays taken; none is let through beyond the limit. */
static void killed_gates_never_get_more(void **state)
{
    (void)state;
    struct charge charges[] = {rate(2000, HOUR), budget(CHARGE_CALLS, 2000, 1)};
    for (size_t k = 0; k < ARRAY_LEN(charges); k++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        struct hammer h = {charges[k], ends[1]};
        pid_t pids[4];
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            pids[i] = store_fork(hammer, &h);
        for (unsigned round = 0; round < random_rounds(20); round++) {
            size_t i = random_below(ARRAY_LEN(pids));
            nanosleep(&(struct timespec){.tv_nsec = (long)random_below(3000000)}, NULL);
            kill(pids[i], SIGKILL);
            int r = store_wait(pids[i]);
            assert_true(r == -SIGKILL || r == 0);
            pids[i] = store_fork(hammer, &h);
        }
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            assert_int_equal(store_wait(pids[i]), 0);
        close(ends[1]);
        int64_t through = count_bytes(ends[0]);
        close(ends[0]);
        /* A gate that was killed between its commit and its word took one that nobody got. */
        assert_in_range(through, 2000 - random_rounds(20), 2000);
        assert_int_equal(used(charges[k], NOON), 2000);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_are_those_of_the_calendar),
        cmocka_unit_test(periods_of_odd_times_stay_in_bounds),
        TEST(a_window_slides),
        TEST(a_limit_of_nothing_lets_nothing_through),
        TEST(windows_agree_with_a_list),
        TEST(only_as_many_rows_as_the_limit_are_kept),
        TEST(a_budget_starts_anew),
        TEST(each_period_has_its_end),
        TEST(messages_have_the_units_of_the_configuration),
        TEST(large_amounts_do_not_overflow),
        TEST(what_was_not_used_is_given_back),
        TEST(all_or_none),
        TEST(the_longest_wait_is_told),
        TEST(the_same_counter_twice_in_one_call),
        TEST(a_clock_that_went_back_refuses),
        TEST(refused_calls_leave_no_trace),
        TEST(a_new_day_stays_a_new_day),
        TEST(needs_a_transaction),
        TEST(nonsense_in_the_file_refuses),
        TEST(a_full_file_takes_nothing),
        TEST(odd_times_in_the_file_are_only_numbers),
        TEST(old_counters_are_forgotten),
        TEST(gates_at_once_get_exactly_the_limit),
        TEST(killed_gates_never_get_more),
    };
    random_begin();
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
