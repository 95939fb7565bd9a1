/* Numbers that look random: the same ones in every run, others in each soak run, which says its seed. */
#ifndef SANDGATE_TESTS_RANDOM_H
#define SANDGATE_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t random_state;

static inline int random_is_soak(void)
{
    const char *soak = getenv("SANDGATE_SOAK");
    return soak && strcmp(soak, "1") == 0;
}

/* As many rounds as there is time for. */
static inline unsigned random_rounds(unsigned usual)
{
    return random_is_soak() ? 50 * usual : usual;
}

/* SANDGATE_SEED repeats a run. */
static inline void random_begin(void)
{
    const char *seed = getenv("SANDGATE_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : random_is_soak() ? (uint64_t)time(NULL) : 1;
    if (random_is_soak())
        printf("# SANDGATE_SEED=%llu\n", (unsigned long long)random_state);
}

/* SplitMix64 */
static inline uint64_t random_next(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t random_below(size_t n)
{
    return (size_t)(random_next() % n);
}

static inline void random_bytes(void *out, size_t n)
{
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)random_next();
}

#endif
