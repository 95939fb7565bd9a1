#include "base/base64.h"

#include <stdint.h>

/* The last one pads. */
#define PAD 64
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

void base64_encode(struct buf *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    if (n == 0)
        return; /* nothing to add to what may still be no memory at all */
    if (n > SIZE_MAX / 2 || buf_reserve(out, (n + 2) / 3 * 4) < 0) {
        out->failed = true;
        return;
    }
    char *at = out->data + out->len;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)in[i] << 16;
        if (left > 1)
            v |= (uint32_t)in[i + 1] << 8;
        if (left > 2)
            v |= in[i + 2];
        *at++ = alphabet[v >> 18];
        *at++ = alphabet[v >> 12 & 63];
        *at++ = alphabet[left > 1 ? v >> 6 & 63 : PAD];
        *at++ = alphabet[left > 2 ? v & 63 : PAD];
    }
    out->len = (size_t)(at - out->data);
}

static int base64_digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Four characters to up to three bytes; `pad` of them are '='. */
static int quad(const char *in, size_t pad, unsigned char out[3])
{
    uint32_t v = 0;
    for (size_t i = 0; i < 4; i++) {
        int d = i < 4 - pad ? base64_digit_value(in[i]) : 0;
        if (d < 0)
            return -EINVAL;
        v = v << 6 | (uint32_t)d;
    }
    /* Bits behind the last byte must be zero, else two texts mean the same bytes. */
    if ((pad == 1 && (v & 0xff)) || (pad == 2 && (v & 0xffff)))
        return -EINVAL;
    out[0] = (unsigned char)(v >> 16);
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)v;
    return 0;
}

int base64_decode(struct buf *out, struct str text)
{
    if (text.n % 4 != 0)
        return -EINVAL;
    for (size_t i = 0; i < text.n; i += 4) {
        size_t pad = 0;
        if (i + 4 == text.n)
            pad = text.p[i + 3] != '=' ? 0 : text.p[i + 2] == '=' ? 2 : 1;
        unsigned char bytes[3];
        if (quad(text.p + i, pad, bytes) < 0)
            return -EINVAL;
        int r = buf_add(out, bytes, 3 - pad);
        if (r < 0)
            return r;
    }
    return 0;
}
