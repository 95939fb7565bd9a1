/* UTF-8 once more, the slow and obvious way: every character there is, written out. */
#ifndef SANDGATE_TESTS_SLOW_UTF8_H
#define SANDGATE_TESTS_SLOW_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"

static inline size_t slow_encode(uint32_t c, unsigned char out[4])
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)((0xf00u >> n & 0xffu) | c);
    return n;
}

/* For every three bytes: bit n (1 to 3) says that the first n begin some character, bit 3 + n that they
 * are a whole one. */
static unsigned char *slow_table;

static inline void slow_mark(const unsigned char *bytes, size_t known, unsigned bit)
{
    size_t first = (size_t)bytes[0] << 16;
    first |= known > 1 ? (size_t)bytes[1] << 8 : 0;
    first |= known > 2 ? bytes[2] : 0;
    if (slow_table[first] & bit)
        return;
    for (size_t i = 0; i < (size_t)1 << 8 * (3 - known); i++)
        slow_table[first + i] |= (unsigned char)bit;
}

static inline void slow_make_table(void)
{
    slow_table = calloc(1u << 24, 1);
    if (!slow_table)
        abort();
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        unsigned char bytes[4];
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        size_t n = slow_encode(c, bytes);
        for (size_t known = 1; known <= n && known <= 3; known++)
            slow_mark(bytes, known, 1u << known);
        if (n <= 3)
            slow_mark(bytes, n, 16u << (n - 1));
    }
}

static inline unsigned slow_look(const char *p, size_t n)
{
    unsigned char a = (unsigned char)p[0];
    unsigned char b = n > 1 ? (unsigned char)p[1] : 0;
    unsigned char c = n > 2 ? (unsigned char)p[2] : 0;
    return slow_table[(size_t)a << 16 | (size_t)b << 8 | c];
}

/* Length of the character at p, 0 where there is none. */
static inline size_t slow_sequence(const char *p, size_t n)
{
    unsigned look = slow_look(p, n);
    for (size_t length = 1; length <= 3 && length <= n; length++) {
        if (look & 16u << (length - 1))
            return length;
    }
    bool four = n >= 4 && (look & 8u) && (unsigned char)p[0] >= 0xf0;
    return four && ((unsigned char)p[3] & 0xc0) == 0x80 ? 4 : 0;
}

/* The longest beginning of a character at p, at least one byte. */
static inline size_t slow_broken(const char *p, size_t n)
{
    unsigned look = slow_look(p, n);
    size_t longest = 1;
    for (size_t length = 2; length <= 3 && length <= n; length++) {
        if (look & 1u << length)
            longest = length;
    }
    return longest;
}

/* What a reader of UTF-8 sees: one U+FFFD for each broken piece. */
static inline void slow_replace(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n;) {
        size_t length = slow_sequence(s.p + i, s.n - i);
        if (length)
            buf_add(out, s.p + i, length);
        else
            buf_add_text(out, "\xef\xbf\xbd");
        i += length ? length : slow_broken(s.p + i, s.n - i);
    }
}

#endif
