#include <cmocka.h>

#include "base/attr.h"
#include "base/clock.h"
#include "random.h"

#define FIRST_SECOND (-62167219200) /* 0000-01-01 */
#define LAST_SECOND 253402300799    /* 9999-12-31 */

static void compare(int64_t seconds, unsigned ms)
{
    struct tm tm;
    time_t t = seconds;
    char text[CLOCK_TEXT_MAX];
    char rest[40];
    char expected[60];
    assert_non_null(gmtime_r(&t, &tm));
    assert_true(strftime(rest, sizeof rest, "-%m-%dT%H:%M:%S", &tm) > 0);
    snprintf(expected, sizeof expected, "%04d%s.%03uZ", tm.tm_year + 1900, rest, ms);
    clock_format_utc(seconds * 1000 + ms, text);
    assert_string_equal(text, expected);
}

/* RFC 3339 has no word for them; what stands there must not look like another year. */
static void years_of_more_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {(LAST_SECOND + 1) * 1000, "+010000-01-01T00:00:00.000Z"},
        {(LAST_SECOND + 1) * 1000 - 1, "9999-12-31T23:59:59.999Z"},
        {FIRST_SECOND * 1000, "0000-01-01T00:00:00.000Z"},
        {FIRST_SECOND * 1000 - 1, "-000001-12-31T23:59:59.999Z"},
        {8640000000000000, "+275760-09-13T00:00:00.000Z"},
        {-8640000000000000, "-271821-04-20T00:00:00.000Z"},
        {INT64_MAX, "+292278994-08-17T07:12:55.807Z"},
        {INT64_MIN, "-292275055-05-16T16:47:04.192Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[CLOCK_TEXT_MAX];
        clock_format_utc(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void reads_what_it_writes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(300000); i++) {
        uint64_t range = LAST_SECOND - FIRST_SECOND + 1;
        int64_t ms = (FIRST_SECOND + (int64_t)(random_next() % range)) * 1000 +
                     (int64_t)random_below(1000);
        char text[CLOCK_TEXT_MAX];
        int64_t read = 0;
        clock_format_utc(ms, text);
        assert_true(clock_parse_utc((struct str){text, strlen(text)}, &read));
        assert_int_equal(read, ms);
    }
}

static void reads_less_and_refuses_the_rest(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "2024",
                                        "2024-02-30",
                                        "2023-02-29",
                                        "2024-13-01",
                                        "2024-01-01T",
                                        "2024-01-01T24:00",
                                        "2024-01-01T12",
                                        "2024-01-01T12:00:",
                                        "2024-01-01T12:00:00.",
                                        "2024-01-01T12:00:00+01:00",
                                        "2024-01-01x"};
    int64_t ms;
    assert_true(clock_parse_utc(STR("2024-02-29"), &ms));
    assert_int_equal(ms, 1709164800000);
    assert_true(clock_parse_utc(STR("2024-02-29 12:30"), &ms));
    assert_int_equal(ms, 1709164800000 + 45000000);
    assert_true(clock_parse_utc(STR("2024-02-29T12:30:01.5Z"), &ms));
    assert_int_equal(ms, 1709164800000 + 45001500);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(clock_parse_utc((struct str){wrong[i], strlen(wrong[i])}, &ms));
}

static void agrees_with_the_c_library(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(300000); i++) {
        uint64_t range = LAST_SECOND - FIRST_SECOND + 1;
        compare(FIRST_SECOND + (int64_t)(random_next() % range), (unsigned)random_below(1000));
    }
}

/* The calendar repeats after 400 years. */
static void every_day_begins_and_ends_in_time(void **state)
{
    (void)state;
    for (int64_t day = -73048; day <= 73049; day++) {
        compare(day * 86400, 0);
        compare(day * 86400 + 86399, 999);
    }
}

static void looks_like_this(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1714564800123, "2024-05-01T12:00:00.123Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {4107542399999, "2100-02-28T23:59:59.999Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[CLOCK_TEXT_MAX];
        clock_format_utc(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* A cell can send any time of change; it must only stay text. */
static void times_far_away_stay_in_bounds(void **state)
{
    (void)state;
    static const int64_t far[] = {INT64_MIN, INT64_MIN + 999, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(far); i++) {
        char text[CLOCK_TEXT_MAX];
        memset(text, 'x', sizeof text);
        clock_format_utc(far[i], text);
        assert_int_equal(strnlen(text, sizeof text), strlen("+292278994-01-01T00:00:00.000Z"));
    }
}

static void tells_the_time_it_is(void **state)
{
    (void)state;
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_REALTIME, &before);
    int64_t ms = clock_unix_ms();
    clock_gettime(CLOCK_REALTIME, &after);
    assert_in_range(ms, before.tv_sec * 1000 + before.tv_nsec / 1000000,
                    after.tv_sec * 1000 + after.tv_nsec / 1000000);
    clock_gettime(CLOCK_MONOTONIC, &before);
    uint64_t ns = clock_mono_ns();
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_in_range(ns, (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec,
                    (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(years_of_more_digits),
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_less_and_refuses_the_rest),
        cmocka_unit_test(agrees_with_the_c_library),
        cmocka_unit_test(every_day_begins_and_ends_in_time),
        cmocka_unit_test(looks_like_this),
        cmocka_unit_test(times_far_away_stay_in_bounds),
        cmocka_unit_test(tells_the_time_it_is),
    };
    return cmocka_run_group_tests_name("clock", tests, set_up, NULL);
}
