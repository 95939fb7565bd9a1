#include "base/json_out.h"

#include <stdint.h>

#include "base/base64.h"
#include "base/utf8.h"

#define ONES 0x0101010101010101u
#define HIGH 0x8080808080808080u

/* Nonzero where a byte of the word needs a look: below 0x20, a quote, a backslash, above 0x7e. */
static uint64_t special_bytes(uint64_t w)
{
    uint64_t control = (w - ONES * 0x20) & ~w;
    uint64_t quote = w ^ ONES * '"';
    uint64_t slash = w ^ ONES * '\\';
    quote = (quote - ONES) & ~quote;
    slash = (slash - ONES) & ~slash;
    return (control | quote | slash | w) & HIGH;
}

static size_t plain_run(const char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        uint64_t special = special_bytes(w);
        if (special) {
            if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
                return i + (size_t)__builtin_ctzll(special) / 8;
            break;
        }
    }
    while (i < n) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80)
            break;
        i++;
    }
    return i;
}

static void escape_ascii(struct buf *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char named[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (c == '"' || c == '\\') {
        char two[2] = {'\\', (char)c};
        buf_add(out, two, 2);
    } else if (named[c & 0x1f] && c < 0x20) {
        char two[2] = {'\\', named[c]};
        buf_add(out, two, 2);
    } else {
        char six[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        buf_add(out, six, 6);
    }
}

/* Returns whether something had to be replaced. */
static bool escape(struct buf *out, struct str s, bool any_bytes)
{
    bool replaced = false;
    /* Most text needs an eighth more at the very most; more is made on the way. */
    if (s.n + s.n / 8 <= out->max - out->len)
        buf_reserve(out, s.n + s.n / 8);
    size_t i = 0;
    while (i < s.n && !out->failed) {
        size_t run = plain_run(s.p + i, s.n - i);
        buf_add(out, s.p + i, run);
        i += run;
        if (i == s.n)
            break;
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x80) {
            escape_ascii(out, c);
            i++;
            continue;
        }
        size_t whole = any_bytes ? 1 : utf8_sequence(s.p + i, s.n - i);
        if (whole) {
            buf_add(out, s.p + i, whole);
            i += whole;
        } else {
            buf_add(out, "\xef\xbf\xbd", 3);
            i += utf8_broken(s.p + i, s.n - i);
            replaced = true;
        }
    }
    return replaced;
}

void json_escape(struct buf *out, struct str s)
{
    escape(out, s, false);
}

static void before_value(struct json_out *j)
{
    if (j->comma)
        buf_add_char(j->out, ',');
    j->comma = true;
}

void jo_open(struct json_out *j, char bracket)
{
    before_value(j);
    buf_add_char(j->out, bracket);
    j->comma = false;
}

void jo_close(struct json_out *j, char bracket)
{
    buf_add_char(j->out, bracket);
    j->comma = true;
}

void jo_key(struct json_out *j, const char *key)
{
    before_value(j);
    buf_add_char(j->out, '"');
    buf_add(j->out, key, strlen(key));
    buf_add(j->out, "\":", 2);
    j->comma = false;
}

static void quoted(struct json_out *j, struct str s, bool any_bytes)
{
    before_value(j);
    buf_add_char(j->out, '"');
    j->replaced |= escape(j->out, s, any_bytes);
    buf_add_char(j->out, '"');
}

void jo_str(struct json_out *j, struct str s)
{
    quoted(j, s, false);
}

void jo_bytes(struct json_out *j, struct str s)
{
    quoted(j, s, true);
}

void jo_text(struct json_out *j, const char *text)
{
    if (text)
        jo_str(j, (struct str){text, strlen(text)});
    else
        jo_null(j);
}

void jo_int(struct json_out *j, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + v % 10);
    while (v /= 10);
    if (value < 0)
        digits[--at] = '-';
    before_value(j);
    buf_add(j->out, digits + at, sizeof digits - at);
}

void jo_bool(struct json_out *j, bool value)
{
    jo_raw(j, value ? STR("true") : STR("false"));
}

void jo_null(struct json_out *j)
{
    jo_raw(j, STR("null"));
}

void jo_raw(struct json_out *j, struct str json)
{
    before_value(j);
    buf_add(j->out, json.p, json.n);
}

void jo_base64(struct json_out *j, struct str bytes)
{
    before_value(j);
    buf_add_char(j->out, '"');
    base64_encode(j->out, bytes.p, bytes.n);
    buf_add_char(j->out, '"');
}

static bool needs_backslash(char c)
{
    return c == '"' || c == '\\';
}

static size_t run_without_backslash(const char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        uint64_t quote = w ^ ONES * '"';
        uint64_t slash = w ^ ONES * '\\';
        if ((((quote - ONES) & ~quote) | ((slash - ONES) & ~slash)) & HIGH)
            break;
    }
    while (i < n && !needs_backslash(p[i]))
        i++;
    return i;
}

/* JSON of ours has no control character and is UTF-8: only quotes and backslashes are left to escape. With
 * room for all of it the buffer stays where it is, so it can be read from while it is written to. */
void jo_written(struct json_out *j, size_t from, size_t n)
{
    struct buf *out = j->out;
    size_t more = 0;
    if (out->failed)
        return;
    for (size_t i = 0; i < n; i++)
        more += needs_backslash(out->data[from + i]);
    before_value(j);
    if (buf_reserve(out, n + more + 2) < 0)
        return;
    const char *p = out->data + from;
    char *to = out->data + out->len;
    *to++ = '"';
    for (size_t i = 0; i < n;) {
        size_t run = run_without_backslash(p + i, n - i);
        memcpy(to, p + i, run);
        to += run;
        i += run;
        while (i < n && needs_backslash(p[i])) {
            *to++ = '\\';
            *to++ = p[i++];
        }
    }
    *to++ = '"';
    out->len = (size_t)(to - out->data);
}

void jo_kstr(struct json_out *j, const char *key, struct str s)
{
    jo_key(j, key);
    jo_str(j, s);
}

void jo_ktext(struct json_out *j, const char *key, const char *text)
{
    jo_key(j, key);
    jo_text(j, text);
}

void jo_kint(struct json_out *j, const char *key, int64_t value)
{
    jo_key(j, key);
    jo_int(j, value);
}

void jo_kbool(struct json_out *j, const char *key, bool value)
{
    jo_key(j, key);
    jo_bool(j, value);
}

void jo_kcontent(struct json_out *j, const char *key, struct str s)
{
    if (!j->redact)
        jo_kstr(j, key, s);
}

void jo_content(struct json_out *j, struct str s)
{
    if (!j->redact) {
        jo_str(j, s);
        return;
    }
    jo_open(j, '{');
    jo_kint(j, "bytes", (int64_t)s.n);
    jo_close(j, '}');
}

bool jo_karray(struct json_out *j, const char *key, size_t count)
{
    jo_key(j, key);
    if (j->redact) {
        jo_int(j, (int64_t)count);
        return false;
    }
    jo_open(j, '[');
    return true;
}
