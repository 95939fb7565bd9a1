#include "tools/node_encoding.h"

#include <stdint.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "work/encoding.h"

#define REPLACEMENT 0xfffd
#define ASCII_MAX 0x7f
#define LATIN1_MAX 0xff

const char *const node_encoding_names[NODE_COUNT + 1] = {
    [NODE_UTF8] = "utf8",   [NODE_UTF16LE] = "utf16le", [NODE_LATIN1] = "latin1",
    [NODE_ASCII] = "ascii", [NODE_BASE64] = "base64",   [NODE_BASE64URL] = "base64url",
    [NODE_HEX] = "hex",
};

const char *const node_encoding_choices[] = {
    "utf8",   "utf-8", "utf16le", "utf-16le",  "ucs2", "ucs-2", "latin1",
    "binary", "ascii", "base64",  "base64url", "hex",  NULL,
};

static const enum node_encoding meanings[] = {
    NODE_UTF8,   NODE_UTF8,   NODE_UTF16LE, NODE_UTF16LE, NODE_UTF16LE,   NODE_UTF16LE,
    NODE_LATIN1, NODE_LATIN1, NODE_ASCII,   NODE_BASE64,  NODE_BASE64URL, NODE_HEX,
};
_Static_assert(ARRAY_LEN(meanings) + 1 == ARRAY_LEN(node_encoding_choices), "one for each name");

enum node_encoding node_encoding_of(int64_t choice)
{
    return meanings[choice];
}

/* --- text to bytes */

static int not_valid(enum node_encoding encoding, struct err *err)
{
    return err_field(err, "content", "argument `content` is not valid %s",
                     node_encoding_names[encoding]);
}

/* Node would keep the low byte of what does not fit, which is another text. */
static int read_characters(enum node_encoding encoding, struct str text, struct buf *out,
                           struct err *err)
{
    uint32_t max = encoding == NODE_ASCII ? ASCII_MAX : LATIN1_MAX;
    for (size_t i = 0; i < text.n;) {
        size_t n = utf8_sequence(text.p + i, text.n - i);
        if (n == 0)
            return err_field(err, "content", "argument `content` is not valid text");
        uint32_t c = utf8_character(text.p + i, n);
        i += n;
        if (encoding == NODE_UTF16LE)
            encoding_add_utf16(c, ENCODING_UTF16LE, out);
        else if (c <= max)
            buf_add_char(out, (char)c);
        else
            return err_field(err, "content",
                             "argument `content` holds U+%04X, which %s cannot express",
                             (unsigned)c, node_encoding_names[encoding]);
    }
    return 0;
}

static int read_hex(struct str text, struct buf *out, struct err *err)
{
    if (text.n % 2)
        return not_valid(NODE_HEX, err);
    for (size_t i = 0; i < text.n; i += 2) {
        int high = ascii_hex_digit(text.p[i]);
        int low = ascii_hex_digit(text.p[i + 1]);
        if (high < 0 || low < 0)
            return not_valid(NODE_HEX, err);
        buf_add_char(out, (char)(high << 4 | low));
    }
    return 0;
}

/* With padding or without, as Node takes it. */
static int read_base64url(struct str text, struct buf *out, struct err *err)
{
    BUF_AT_END struct buf plain = BUF_INIT(text.n + 4);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '+' || c == '/')
            return not_valid(NODE_BASE64URL, err);
        buf_add_char(&plain, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (plain.len % 4)
        buf_add_char(&plain, '=');
    if (plain.failed || base64_decode(out, buf_str(&plain)) == -EINVAL)
        return not_valid(NODE_BASE64URL, err);
    return 0;
}

static int read_encoded_text(enum node_encoding encoding, struct str text, struct buf *out,
                             struct err *err)
{
    switch (encoding) {
    case NODE_BASE64:
        return base64_decode(out, text) == -EINVAL ? not_valid(encoding, err) : 0;
    case NODE_BASE64URL:
        return read_base64url(text, out, err);
    case NODE_HEX:
        return read_hex(text, out, err);
    default:
        return read_characters(encoding, text, out, err);
    }
}

int node_encoding_read(enum node_encoding encoding, struct str text, struct buf *out,
                       struct err *err)
{
    if (read_encoded_text(encoding, text, out, err) < 0)
        return -1;
    return out->failed ? err_no_memory(err) : 0;
}

/* --- bytes to text */

static void write_latin1(struct str bytes, unsigned mask, struct buf *out)
{
    for (size_t i = 0; i < bytes.n; i++)
        utf8_add(out, (unsigned char)bytes.p[i] & mask);
}

static uint32_t utf16_unit_at(struct str bytes, size_t i)
{
    return (uint32_t)((unsigned char)bytes.p[i] | (unsigned char)bytes.p[i + 1] << 8);
}

/* A last byte without its other half is no character. */
static void write_utf16le(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i + 1 < bytes.n; i += 2) {
        uint32_t c = utf16_unit_at(bytes, i);
        bool high = c >= 0xd800 && c < 0xdc00;
        uint32_t next = high && i + 3 < bytes.n ? utf16_unit_at(bytes, i + 2) : 0;
        if (next >= 0xdc00 && next < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00);
            i += 2;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = REPLACEMENT;
        }
        utf8_add(out, c);
    }
}

static void write_hex(struct str bytes, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.n; i++) {
        buf_add_char(out, digits[(unsigned char)bytes.p[i] >> 4]);
        buf_add_char(out, digits[(unsigned char)bytes.p[i] & 15]);
    }
}

static void write_base64url(struct str bytes, struct buf *out)
{
    size_t from = out->len;
    base64_encode(out, bytes.p, bytes.n);
    while (out->len > from && out->data[out->len - 1] == '=')
        out->len--;
    for (size_t i = from; i < out->len; i++) {
        char c = out->data[i];
        out->data[i] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
}

void node_encoding_write(enum node_encoding encoding, struct str bytes, struct buf *out)
{
    switch (encoding) {
    case NODE_UTF16LE:
        write_utf16le(bytes, out);
        break;
    case NODE_LATIN1:
        write_latin1(bytes, LATIN1_MAX, out);
        break;
    case NODE_ASCII:
        /* Node's decoder drops the highest bit. */
        write_latin1(bytes, ASCII_MAX, out);
        break;
    case NODE_BASE64:
        base64_encode(out, bytes.p, bytes.n);
        break;
    case NODE_BASE64URL:
        write_base64url(bytes, out);
        break;
    default:
        write_hex(bytes, out);
        break;
    }
}
