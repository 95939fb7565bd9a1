#include "work/finder_set.h"

#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/ascii.h"
#include "work/finder.h"

/* --- the tables */

/* Where the rarest bytes in a row begin. */
static size_t window_of(struct str text)
{
    size_t best = 0;
    unsigned most = 0;
    for (size_t i = 0; i + FINDER_WINDOW <= text.n; i++) {
        unsigned sum = 0;
        for (size_t k = 0; k < FINDER_WINDOW; k++)
            sum += finder_rank((uint8_t)text.p[i + k]);
        if (i == 0 || sum > most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

static int compare_windows(const void *a, const void *b)
{
    const struct finder_text *x = a;
    const struct finder_text *y = b;
    /* Of two bytes, the third is the NUL behind them. */
    return memcmp(x->text.p + x->at, y->text.p + y->at, FINDER_WINDOW);
}

static bool holds_another(const struct texts *texts, struct str text)
{
    for (struct str other = {0}; texts_next(texts, &other);) {
        if (other.p != text.p && memmem(text.p, text.n, other.p, other.n) &&
            (other.n < text.n || other.p < text.p))
            return true;
    }
    return false;
}

static void add_byte(struct finder_set *set, size_t place, uint8_t byte, uint8_t group)
{
    set->low[place][byte & 15] |= group;
    set->high[place][byte >> 4] |= group;
    set->whole[place][byte] |= group;
}

static void add_window(struct finder_set *set, const struct finder_text *t, uint8_t group)
{
    for (size_t place = 0; place < FINDER_WINDOW; place++) {
        if (t->at + place >= t->text.n) {
            /* A text of two bytes: any third. */
            for (unsigned byte = 0; byte < 256; byte++)
                add_byte(set, place, (uint8_t)byte, group);
            continue;
        }
        uint8_t byte = (uint8_t)t->text.p[t->at + place];
        add_byte(set, place, byte, group);
        if (set->fold && byte >= 'a' && byte <= 'z')
            add_byte(set, place, byte & ~0x20, group);
    }
}

void finder_set_init(struct finder_set *set, const struct texts *texts, bool fold)
{
    *set = (struct finder_set){.fold = fold};
    for (struct str text = {0}; texts_next(texts, &text);) {
        if (!holds_another(texts, text))
            set->texts[set->n++] = (struct finder_text){text, window_of(text)};
    }
    qsort(set->texts, set->n, sizeof set->texts[0], compare_windows);
    for (size_t group = 0; group < FINDER_GROUPS; group++) {
        set->first[group] = group * set->n / FINDER_GROUPS;
        set->first[group + 1] = (group + 1) * set->n / FINDER_GROUPS;
        for (size_t i = set->first[group]; i < set->first[group + 1]; i++)
            add_window(set, &set->texts[i], (uint8_t)(1u << group));
    }
}

/* --- one place */

static bool is_wanted_text(const struct finder_set *set, struct str wanted, const char *at)
{
    if (!set->fold)
        return memcmp(at, wanted.p, wanted.n) == 0;
    for (size_t i = 0; i < wanted.n; i++) {
        if ((uint8_t)ascii_lower(at[i]) != (uint8_t)wanted.p[i])
            return false;
    }
    return true;
}

/* Whether a text of these groups has its window at this place. */
static bool is_any_text_here(const struct finder_set *set, unsigned groups, const char *text,
                             size_t n, size_t from, size_t place)
{
    for (; groups; groups &= groups - 1) {
        unsigned group = (unsigned)__builtin_ctz(groups);
        for (size_t i = set->first[group]; i < set->first[group + 1]; i++) {
            const struct finder_text *t = &set->texts[i];
            if (place - from >= t->at && n - place >= t->text.n - t->at &&
                is_wanted_text(set, t->text, text + place - t->at))
                return true;
        }
    }
    return false;
}

static unsigned groups_at(const struct finder_set *set, const char *text, size_t n, size_t place)
{
    const uint8_t *at = (const uint8_t *)text + place;
    unsigned third = place + 2 < n ? set->whole[2][at[2]] : 0xff;
    return set->whole[0][at[0]] & set->whole[1][at[1]] & third;
}

static size_t find_set_slowly(const struct finder_set *set, const char *text, size_t n, size_t from,
                              size_t place)
{
    for (; place + 1 < n; place++) {
        unsigned groups = groups_at(set, text, n, place);
        if (groups && is_any_text_here(set, groups, text, n, from, place))
            return place;
    }
    return n;
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,bmi")))

struct tables {
    __m256i low[FINDER_WINDOW];
    __m256i high[FINDER_WINDOW];
};

AVX2 static inline __m256i twice(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
}

/* The groups that fit at each of the 32 places from here on. */
AVX2 static inline __m256i groups_of(const struct tables *t, const char *at)
{
    const __m256i half = _mm256_set1_epi8(15);
    __m256i groups = _mm256_set1_epi8(-1);
    for (size_t i = 0; i < FINDER_WINDOW; i++) {
        __m256i block = _mm256_loadu_si256((const void *)(at + i));
        __m256i low = _mm256_shuffle_epi8(t->low[i], _mm256_and_si256(block, half));
        __m256i high = _mm256_shuffle_epi8(t->high[i],
                                           _mm256_and_si256(_mm256_srli_epi16(block, 4), half));
        groups = _mm256_and_si256(groups, _mm256_and_si256(low, high));
    }
    return groups;
}

/* The first of the 32 places from `place` on where a text is, or n. */
AVX2 static size_t first_of(const struct finder_set *set, __m256i groups, const char *text,
                            size_t n, size_t from, size_t place)
{
    uint8_t each[32];
    __m256i none = _mm256_cmpeq_epi8(groups, _mm256_setzero_si256());
    _mm256_storeu_si256((void *)each, groups);
    for (uint32_t mask = ~(uint32_t)_mm256_movemask_epi8(none); mask; mask &= mask - 1) {
        unsigned i = _tzcnt_u32(mask);
        if (is_any_text_here(set, each[i], text, n, from, place + i))
            return place + i;
    }
    return n;
}

AVX2 static size_t find_fast(const struct finder_set *set, const char *text, size_t n, size_t from)
{
    struct tables t;
    for (size_t i = 0; i < FINDER_WINDOW; i++) {
        t.low[i] = twice(set->low[i]);
        t.high[i] = twice(set->high[i]);
    }
    size_t place = from;
    for (; place + 64 + FINDER_WINDOW - 1 <= n; place += 64) {
        __m256i a = groups_of(&t, text + place);
        __m256i b = groups_of(&t, text + place + 32);
        __m256i both = _mm256_or_si256(a, b);
        if (_mm256_testz_si256(both, both))
            continue;
        size_t at = first_of(set, a, text, n, from, place);
        if (at == n)
            at = first_of(set, b, text, n, from, place + 32);
        if (at < n)
            return at;
    }
    return find_set_slowly(set, text, n, from, place);
}
#else
static size_t find_fast(const struct finder_set *set, const char *text, size_t n, size_t from)
{
    return find_set_slowly(set, text, n, from, from);
}
#endif

size_t finder_set_find(const struct finder_set *set, const char *text, size_t n, size_t from)
{
    if (from >= n)
        return n;
    return finder_has_avx2() ? find_fast(set, text, n, from)
                             : find_set_slowly(set, text, n, from, from);
}
