/* The way back from what is shown to the text, and what may never be shown: written apart from base/shown.c. */
#ifndef SANDGATE_TESTS_READ_SHOWN_H
#define SANDGATE_TESTS_READ_SHOWN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"

struct read_shown {
    struct buf parts[2]; /* before and behind what was left out */
    size_t left_out;
    bool cut;
};

static inline void read_shown_add(struct buf *out, unsigned long c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(lead[n] | c);
    buf_add(out, bytes, n);
}

/* What stands behind a backslash; how long it is, or 0. */
static inline size_t read_shown_name(const char *p, struct read_shown *ret)
{
    static const char from[] = "ntre\\";
    static const char to[] = "\n\t\r\x1b\\";
    struct buf *out = &ret->parts[ret->cut];
    unsigned long number;
    int n = 0;
    const char *letter = *p ? strchr(from, *p) : NULL;
    if (letter)
        return buf_add_char(out, to[letter - from]), 1;
    if (sscanf(p, "x%2lx%n", &number, &n) == 1 && n == 3)
        return buf_add_char(out, (char)number), 3;
    if (sscanf(p, "u{%6lx}%n", &number, &n) == 1 && n > 3)
        return read_shown_add(out, number), (size_t)n;
    if ((sscanf(p, "[%lu spaces]%n", &number, &n) == 1 && n > 0) ||
        (sscanf(p, "[%lu space]%n", &number, &n) == 1 && n > 0)) {
        while (number--)
            buf_add_char(out, ' ');
        return (size_t)n;
    }
    if (sscanf(p, "[%lu bytes left out]%n", &number, &n) == 1 && n > 0 && !ret->cut) {
        ret->cut = true;
        ret->left_out = number;
        return (size_t)n;
    }
    return 0;
}

/* `shown` ends with a NUL. False: it is not what the program writes. */
static inline bool read_shown(const char *shown, struct read_shown *ret)
{
    *ret = (struct read_shown){.parts = {BUF_INIT(1u << 30), BUF_INIT(1u << 30)}};
    while (*shown) {
        if (*shown != '\\') {
            buf_add_char(&ret->parts[ret->cut], *shown++);
            continue;
        }
        size_t n = read_shown_name(shown + 1, ret);
        if (n == 0)
            return false;
        shown += 1 + n;
    }
    return true;
}

static inline void read_shown_done(struct read_shown *r)
{
    buf_done(&r->parts[0]);
    buf_done(&r->parts[1]);
}

/* The head and the end are the text's own, and the number is right. */
static inline bool read_shown_fits(const struct read_shown *r, struct str text)
{
    size_t head = r->parts[0].len;
    size_t tail = r->parts[1].len;
    return head + tail + r->left_out == text.n && r->cut == (r->left_out > 0) &&
           (head == 0 || memcmp(r->parts[0].data, text.p, head) == 0) &&
           (tail == 0 || memcmp(r->parts[1].data, text.p + text.n - tail, tail) == 0);
}

/* Printable, nothing that moves, hides or turns. */
static inline bool is_harmless(const char *p, size_t n)
{
    static const unsigned long bad[][2] = {
        {0, 0x1f},          {0x7f, 0xa0},        {0xad, 0xad},     {0x34f, 0x34f},
        {0x61c, 0x61c},     {0x115f, 0x1160},    {0x180b, 0x180f}, {0x2000, 0x200f},
        {0x2028, 0x202f},   {0x205f, 0x206f},    {0x2800, 0x2800}, {0x3000, 0x3000},
        {0x3164, 0x3164},   {0xd800, 0xf8ff},    {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},    {0xfff9, 0xfffc}, {0xfffe, 0xffff},
        {0x1fffe, 0x1ffff}, {0xe0000, 0x10ffff},
    };
    for (size_t i = 0; i < n;) {
        size_t length = utf8_sequence(p + i, n - i);
        if (length == 0)
            return false;
        unsigned long c = (unsigned char)p[i];
        c = length == 1 ? c : c & (0xffu >> (length + 1));
        for (size_t k = 1; k < length; k++)
            c = c << 6 | ((unsigned char)p[i + k] & 0x3f);
        for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
            if (c >= bad[k][0] && c <= bad[k][1])
                return false;
        }
        i += length;
    }
    return true;
}

#endif
