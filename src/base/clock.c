#include "base/clock.h"

/* Days to a civil date (Howard Hinnant's algorithm): gmtime_r takes locks and reads TZ files. */
static void civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned doe = (unsigned)(days - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;
    *day = doy - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = (int64_t)yoe + era * 400 + (*month <= 2);
}

/* Written by hand, because a list of a thousand files has a thousand times in it. */
static char *put(char *to, unsigned value, int digits, char behind)
{
    for (int i = digits; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    to[digits] = behind;
    return to + digits + 1;
}

void clock_format_utc(int64_t unix_ms, char out[CLOCK_TEXT_MAX])
{
    int64_t ms = unix_ms % 1000;
    int64_t seconds = unix_ms / 1000;
    if (ms < 0) {
        ms += 1000;
        seconds -= 1;
    }
    int64_t rest = seconds % 86400;
    int64_t days = seconds / 86400;
    if (rest < 0) {
        rest += 86400;
        days -= 1;
    }
    int64_t year;
    unsigned month;
    unsigned day;
    civil_from_days(days, &year, &month, &day);
    char *at = out;
    at = put(at, (unsigned)year % 10000u, 4, '-');
    at = put(at, month, 2, '-');
    at = put(at, day, 2, 'T');
    at = put(at, (unsigned)(rest / 3600), 2, ':');
    at = put(at, (unsigned)(rest / 60 % 60), 2, ':');
    at = put(at, (unsigned)(rest % 60), 2, '.');
    at = put(at, (unsigned)ms, 3, 'Z');
    *at = '\0';
}
