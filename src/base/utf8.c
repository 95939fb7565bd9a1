#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

struct lead {
    unsigned char length; /* of the whole sequence */
    unsigned char low;    /* range of the second byte */
    unsigned char high;
};

static struct lead lead_of(unsigned char c)
{
    if (c >= 0xc2 && c <= 0xdf)
        return (struct lead){2, 0x80, 0xbf};
    if (c == 0xe0)
        return (struct lead){3, 0xa0, 0xbf};
    if (c == 0xed)
        return (struct lead){3, 0x80, 0x9f};
    if (c >= 0xe1 && c <= 0xef)
        return (struct lead){3, 0x80, 0xbf};
    if (c == 0xf0)
        return (struct lead){4, 0x90, 0xbf};
    if (c >= 0xf1 && c <= 0xf3)
        return (struct lead){4, 0x80, 0xbf};
    if (c == 0xf4)
        return (struct lead){4, 0x80, 0x8f};
    return (struct lead){0, 0, 0};
}

/* Bytes at p that begin the sequence its lead announces; sets *ret_whole when it is complete. */
static size_t match(const char *p, size_t n, bool *ret_whole)
{
    unsigned char c = (unsigned char)p[0];
    *ret_whole = c < 0x80;
    if (c < 0x80)
        return 1;
    struct lead lead = lead_of(c);
    size_t i = 1;
    while (i < lead.length && i < n) {
        unsigned char d = (unsigned char)p[i];
        unsigned char low = i == 1 ? lead.low : 0x80;
        unsigned char high = i == 1 ? lead.high : 0xbf;
        if (d < low || d > high)
            break;
        i++;
    }
    *ret_whole = lead.length && i == lead.length;
    return i;
}

size_t utf8_sequence(const char *p, size_t n)
{
    bool whole;
    size_t length = match(p, n, &whole);
    return whole ? length : 0;
}

size_t utf8_broken(const char *p, size_t n)
{
    bool whole;
    return match(p, n, &whole);
}

bool utf8_valid(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t word;
        if (n - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof word;
                continue;
            }
        }
        size_t length = utf8_sequence(p + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t utf8_cut(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)p[n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        return lead_of(c).length > back ? n - back : n;
    }
    return n;
}

uint32_t utf8_character(const char *p, size_t n)
{
    uint32_t c = (unsigned char)p[0] & (n == 1 ? 0x7f : 0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

void utf8_add(struct buf *out, uint32_t c)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    char bytes[4];
    if (c < 0x80) {
        buf_add_char(out, (char)c);
        return;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(lead[n] | (n == 4 ? c & 7 : c));
    buf_add(out, bytes, n);
}
