#include "work/encoding.h"

#include "base/utf8.h"

enum encoding encoding_of(struct str file)
{
    if (file.n >= 2 && memcmp(file.p, "\xff\xfe", 2) == 0)
        return ENCODING_UTF16LE;
    if (file.n >= 2 && memcmp(file.p, "\xfe\xff", 2) == 0)
        return ENCODING_UTF16BE;
    return ENCODING_BYTES;
}

static uint32_t encoded_unit_at(const char *p, enum encoding encoding)
{
    uint32_t a = (unsigned char)p[0];
    uint32_t b = (unsigned char)p[1];
    return encoding == ENCODING_UTF16LE ? b << 8 | a : a << 8 | b;
}

int encoding_from_utf16(struct str file, enum encoding encoding, struct buf *out)
{
    size_t even = file.n & ~(size_t)1;
    for (size_t i = 0; i < even; i += 2) {
        uint32_t c = encoded_unit_at(file.p + i, encoding);
        if (c >= 0xd800 && c <= 0xdbff && i + 2 < even) {
            uint32_t low = encoded_unit_at(file.p + i + 2, encoding);
            if (low >= 0xdc00 && low <= 0xdfff) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        utf8_add(out, c);
    }
    return out->failed ? -ENOBUFS : 0;
}

/* The character at p and its length; halves of surrogate pairs are let through. */
static uint32_t read_utf8_character(const char *p, size_t n, size_t *ret_length)
{
    const unsigned char *u = (const unsigned char *)p;
    bool half = n >= 3 && u[0] == 0xed && u[1] >= 0xa0 && u[1] <= 0xbf && u[2] >= 0x80 &&
                u[2] <= 0xbf;
    size_t length = half ? 3 : utf8_sequence(p, n);
    *ret_length = length ? length : 1;
    if (length == 0)
        return 0xfffd;
    return utf8_character(p, length);
}

static void add_encoded_unit(struct buf *out, uint32_t unit, enum encoding encoding)
{
    bool low_first = encoding == ENCODING_UTF16LE;
    buf_add_char(out, (char)(low_first ? unit : unit >> 8));
    buf_add_char(out, (char)(low_first ? unit >> 8 : unit));
}

void encoding_add_utf16(uint32_t c, enum encoding encoding, struct buf *out)
{
    if (c >= 0x10000) {
        add_encoded_unit(out, 0xd800 + ((c - 0x10000) >> 10), encoding);
        c = 0xdc00 + ((c - 0x10000) & 0x3ff);
    }
    add_encoded_unit(out, c, encoding);
}

int encoding_to_utf16(struct str text, enum encoding encoding, struct buf *out)
{
    size_t length;
    for (size_t i = 0; i < text.n; i += length) {
        uint32_t c = read_utf8_character(text.p + i, text.n - i, &length);
        encoding_add_utf16(c, encoding, out);
    }
    return out->failed ? -ENOBUFS : 0;
}

uint32_t encoding_to_latin1(struct str text, struct buf *out)
{
    size_t length;
    for (size_t i = 0; i < text.n; i += length) {
        uint32_t c = read_utf8_character(text.p + i, text.n - i, &length);
        if (c > 0xff)
            return c;
        buf_add_char(out, (char)c);
    }
    return 0;
}

bool encoding_is_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    }
    return true;
}

bool encoding_is_single_byte(struct str text)
{
    size_t characters = 0;
    size_t others = 0;
    for (size_t i = 0; i < text.n;) {
        size_t length = (unsigned char)text.p[i] < 0x80 ? 1 : utf8_sequence(text.p + i, text.n - i);
        characters += length > 1;
        others += length == 0;
        i += length ? length : 1;
    }
    return others > characters;
}
