/* Time: a monotonic clock for durations and deadlines, UTC text for records. */
#ifndef SANDGATE_BASE_CLOCK_H
#define SANDGATE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attr.h"

#define CLOCK_TEXT_MAX 32

static inline uint64_t clock_mono_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline int64_t clock_unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Unix time by the clock that file systems take their times from: no file that is made later has an earlier one. */
static inline int64_t clock_file_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* RFC 3339 in UTC with milliseconds, `2024-05-01T12:00:00.123Z`. It has no years but 0 to 9999; others have a sign and six
 * or nine digits as in ISO 8601 and ECMAScript, `+010000-01-01T00:00:00.000Z`. */
void clock_format_utc(int64_t unix_ms, char out[CLOCK_TEXT_MAX]);
/* The same read back; seconds, their fraction and the time may be missing, and a space may stand for the T. */
bool clock_parse_utc(struct str text, int64_t *ret_unix_ms);

#endif
