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
static char *put_clock_digits(char *to, unsigned value, int digits, char behind)
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
    bool four = year >= 0 && year <= 9999;
    if (!four)
        *at++ = year < 0 ? '-' : '+';
    int64_t digits = year < 0 ? -year : year;
    at = put_clock_digits(at, (unsigned)digits, four ? 4 : digits <= 999999 ? 6 : 9, '-');
    at = put_clock_digits(at, month, 2, '-');
    at = put_clock_digits(at, day, 2, 'T');
    at = put_clock_digits(at, (unsigned)(rest / 3600), 2, ':');
    at = put_clock_digits(at, (unsigned)(rest / 60 % 60), 2, ':');
    at = put_clock_digits(at, (unsigned)(rest % 60), 2, '.');
    at = put_clock_digits(at, (unsigned)ms, 3, 'Z');
    *at = '\0';
}

static int64_t days_from_civil(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    unsigned yoe = (unsigned)(year - era * 400);
    unsigned doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + (int64_t)(yoe * 365 + yoe / 4 - yoe / 100 + doy) - 719468;
}

/* `digits` of them, between low and high. */
static bool take_clock_digits(struct str *text, int digits, unsigned low, unsigned high,
                              unsigned *ret)
{
    unsigned value = 0;
    if (text->n < (size_t)digits)
        return false;
    for (int i = 0; i < digits; i++) {
        if (text->p[i] < '0' || text->p[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text->p[i] - '0');
    }
    *text = (struct str){text->p + digits, text->n - (size_t)digits};
    *ret = value;
    return value >= low && value <= high;
}

static bool take_sign(struct str *text, char sign)
{
    if (text->n == 0 || text->p[0] != sign)
        return false;
    *text = (struct str){text->p + 1, text->n - 1};
    return true;
}

/* `.5` and `.500000001`, down to milliseconds. */
static bool take_fraction(struct str *text, unsigned *ret_ms)
{
    unsigned unit = 100;
    size_t n = 0;
    for (; n < text->n && text->p[n] >= '0' && text->p[n] <= '9'; n++, unit /= 10)
        *ret_ms += unit * (unsigned)(text->p[n] - '0');
    *text = (struct str){text->p + n, text->n - n};
    return n > 0;
}

static bool is_day(unsigned year, unsigned month, unsigned day)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= lengths[month - 1] + (unsigned)(month == 2 && leap);
}

bool clock_parse_utc(struct str text, int64_t *ret_unix_ms)
{
    unsigned year, month, day;
    unsigned hour = 0, minute = 0, second = 0, ms = 0;
    if (!take_clock_digits(&text, 4, 0, 9999, &year) || !take_sign(&text, '-') ||
        !take_clock_digits(&text, 2, 1, 12, &month) || !take_sign(&text, '-') ||
        !take_clock_digits(&text, 2, 1, 31, &day) || !is_day(year, month, day))
        return false;
    if (take_sign(&text, 'T') || take_sign(&text, ' ')) {
        if (!take_clock_digits(&text, 2, 0, 23, &hour) || !take_sign(&text, ':') ||
            !take_clock_digits(&text, 2, 0, 59, &minute))
            return false;
        if (take_sign(&text, ':') && (!take_clock_digits(&text, 2, 0, 60, &second) ||
                                      (take_sign(&text, '.') && !take_fraction(&text, &ms))))
            return false;
        take_sign(&text, 'Z');
    }
    *ret_unix_ms = (days_from_civil(year, month, day) * 86400 + (int64_t)hour * 3600 +
                    (int64_t)minute * 60 + second) *
                       1000 +
                   ms;
    return text.n == 0;
}
