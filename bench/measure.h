// What the benchmark programs share: time stamps, percentiles, counts from the command line.
#pragma once

#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static inline int compare_ns(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static inline void sort_ns(uint64_t *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare_ns);
}

// `sorted` must not be empty.
static inline double percentile_us(const uint64_t *sorted, size_t count, unsigned percent)
{
    return (double)sorted[(count - 1) * percent / 100] / 1e3;
}

static inline size_t parse_count(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > 100000000)
        errx(2, "not a count: %s", text);
    return (size_t)value;
}
