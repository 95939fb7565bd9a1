#include "work/finder.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#include <sys/platform/x86.h>

#include "base/ascii.h"
#endif

/* From the most to the least common in source code and prose; all others are rarer still. */
static const char common[] = " etanirsoldcup_m\nfh\t,gb0)(;1-*yv/2.x=:\"wk>#'{}SETAR3<NCI&LDOPM4U";

unsigned finder_rank(uint8_t byte)
{
    const char *at = byte ? strchr(common, byte) : NULL;
    return at ? (unsigned)(at - common) : sizeof common;
}

static bool is_letter(uint8_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

void finder_init(struct finder *finder, struct str text, bool fold)
{
    *finder = (struct finder){.text = text, .fold = fold};
    for (size_t i = 1; i < text.n; i++) {
        unsigned here = finder_rank((uint8_t)text.p[i]);
        if (finder->at[0] == finder->at[1] || here > finder_rank((uint8_t)text.p[finder->at[1]]))
            finder->at[1] = i;
        if (finder_rank((uint8_t)text.p[finder->at[1]]) >
            finder_rank((uint8_t)text.p[finder->at[0]])) {
            size_t first = finder->at[0];
            finder->at[0] = finder->at[1];
            finder->at[1] = first;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        uint8_t byte = (uint8_t)text.p[finder->at[i]];
        finder->letter[i] = fold && is_letter(byte) ? 0x20 : 0;
        finder->byte[i] = fold ? (uint8_t)ascii_lower((char)byte) : byte;
    }
}

static bool is_text_here(const struct finder *f, const char *at)
{
    if (!f->fold)
        return memcmp(at, f->text.p, f->text.n) == 0;
    for (size_t i = 0; i < f->text.n; i++) {
        if ((uint8_t)ascii_lower(at[i]) != (uint8_t)f->text.p[i])
            return false;
    }
    return true;
}

static size_t find_text_slowly(const struct finder *f, const char *text, size_t n, size_t from)
{
    for (size_t i = from; i + f->text.n <= n; i++) {
        if (!f->fold) {
            const char *at = memchr(text + i + f->at[0], f->byte[0], n - f->text.n - i + 1);
            if (!at)
                return n;
            i = (size_t)(at - text) - f->at[0];
        }
        if (is_text_here(f, text + i))
            return i;
    }
    return n;
}

static size_t count_slowly(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n';
    return count;
}

static unsigned kinds_slowly(const char *text, size_t n)
{
    unsigned high = 0;
    unsigned nul = 0;
    for (size_t i = 0; i < n; i++) {
        high |= (uint8_t)text[i];
        nul |= text[i] == 0;
    }
    return (nul ? FINDER_NUL : 0) | (high & 0x80 ? FINDER_HIGH : 0);
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

/* What the C library has found out: the compiler's own way to ask does so again in every process that starts, and on
 * a virtual machine each question is one to the host. */
bool finder_has_avx2(void)
{
    return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1);
}

struct needle {
    __m256i byte[2];
    __m256i letter[2];
};

/* A bit for each of the 32 places from here on where both bytes fit. */
AVX2 static inline uint32_t places(const struct finder *f, const struct needle *needle,
                                   const char *at)
{
    __m256i a = _mm256_loadu_si256((const void *)(at + f->at[0]));
    __m256i b = _mm256_loadu_si256((const void *)(at + f->at[1]));
    a = _mm256_cmpeq_epi8(_mm256_or_si256(a, needle->letter[0]), needle->byte[0]);
    b = _mm256_cmpeq_epi8(_mm256_or_si256(b, needle->letter[1]), needle->byte[1]);
    return (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(a, b));
}

AVX2 static size_t find_fast(const struct finder *f, const char *text, size_t n, size_t from)
{
    struct needle needle;
    for (unsigned i = 0; i < 2; i++) {
        needle.byte[i] = _mm256_set1_epi8((char)f->byte[i]);
        needle.letter[i] = _mm256_set1_epi8((char)f->letter[i]);
    }
    /* The last place where a block of 32 still lies within the text. */
    size_t last = n - f->text.n - 31;
    for (size_t i = from;;) {
        for (uint32_t mask = places(f, &needle, text + i); mask; mask &= mask - 1) {
            size_t at = i + _tzcnt_u32(mask);
            if (is_text_here(f, text + at))
                return at;
        }
        if (i == last)
            return n;
        i = i + 32 < last ? i + 32 : last;
    }
}

AVX2 static size_t count_fast(const char *text, size_t n)
{
    size_t count = 0;
    size_t i = 0;
    __m256i end = _mm256_set1_epi8('\n');
    for (; i + 32 <= n; i += 32) {
        __m256i block = _mm256_loadu_si256((const void *)(text + i));
        count += (size_t)_mm_popcnt_u32(
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block, end)));
    }
    return count + count_slowly(text + i, n - i);
}

AVX2 static unsigned kinds_fast(const char *text, size_t n)
{
    __m256i high = _mm256_setzero_si256();
    __m256i least = _mm256_set1_epi8(-1);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i block = _mm256_loadu_si256((const void *)(text + i));
        high = _mm256_or_si256(high, block);
        least = _mm256_min_epu8(least, block);
    }
    __m256i nul = _mm256_cmpeq_epi8(least, _mm256_setzero_si256());
    return (_mm256_movemask_epi8(nul) ? FINDER_NUL : 0) |
           (_mm256_movemask_epi8(high) ? FINDER_HIGH : 0) | kinds_slowly(text + i, n - i);
}
#else
bool finder_has_avx2(void)
{
    return false;
}
#define find_fast find_text_slowly
#define count_fast count_slowly
#define kinds_fast kinds_slowly
#endif

size_t finder_find(const struct finder *finder, const char *text, size_t n, size_t from)
{
    if (from > n || n - from < finder->text.n)
        return n;
    if (n - from < finder->text.n + 31 || !finder_has_avx2())
        return find_text_slowly(finder, text, n, from);
    return find_fast(finder, text, n, from);
}

size_t finder_count_lines(const char *text, size_t n)
{
    return finder_has_avx2() ? count_fast(text, n) : count_slowly(text, n);
}

unsigned finder_kinds(const char *text, size_t n)
{
    return finder_has_avx2() ? kinds_fast(text, n) : kinds_slowly(text, n);
}
