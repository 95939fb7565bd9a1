#include "base/json_out.h"

#include <stdint.h>

#include "base/base64.h"
#include "base/redact.h"
#include "base/utf8.h"

/* Escaped in parts of this size, each with room for the most it can become. */
#define PART ((size_t)4096)
#define GROWTH 6u /* \u001f */
#define BLOCK 16u

#ifdef __SSE2__
#include <emmintrin.h>

/* Copies a block and tells how many of its bytes come before the first that needs a look: a control character, a
 * quote, a backslash, what is not ASCII. */
static unsigned copy_plain(const char *from, char *to)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)from);
    _mm_storeu_si128((__m128i *)(void *)to, v);
    /* As signed bytes, what is not ASCII is below the space as well. */
    __m128i special = _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(' ')),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                                _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
    unsigned mask = (unsigned)_mm_movemask_epi8(special);
    return mask ? (unsigned)__builtin_ctz(mask) : BLOCK;
}
#else
static bool is_plain_json_byte(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static unsigned copy_plain(const char *from, char *to)
{
    unsigned n = 0;
    memcpy(to, from, BLOCK);
    while (n < BLOCK && is_plain_json_byte((unsigned char)from[n]))
        n++;
    return n;
}
#endif

static char *escape_ascii(char *to, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char named[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    *to++ = '\\';
    if (c == '"' || c == '\\') {
        *to++ = (char)c;
    } else if (c < 0x20 && named[c]) {
        *to++ = named[c];
    } else {
        *to++ = 'u';
        *to++ = '0';
        *to++ = '0';
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    return to;
}

/* One that needs a look; how many bytes it was. */
static size_t escape_one(const char *p, size_t n, bool any_bytes, char **to, bool *replaced)
{
    unsigned char c = (unsigned char)*p;
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
        *(*to)++ = (char)c;
        return 1;
    }
    if (c < 0x80) {
        *to = escape_ascii(*to, c);
        return 1;
    }
    size_t whole = any_bytes ? 1 : utf8_sequence(p, n);
    /* U+0080 to U+009F: terminals take some of them for the beginning of a sequence. */
    if (whole == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0) {
        *to = escape_ascii(*to, (unsigned char)p[1]);
        return whole;
    }
    if (whole) {
        memcpy(*to, p, whole);
        *to += whole;
        return whole;
    }
    memcpy(*to, "\xef\xbf\xbd", 3);
    *to += 3;
    *replaced = true;
    return utf8_broken(p, n);
}

/* The first `part` bytes of s, or a few more where a character reaches further; `to` has room for them. */
static size_t escape_part(struct str s, size_t part, bool any_bytes, char **to, bool *replaced)
{
    size_t i = 0;
    while (i < part) {
        if (s.n - i >= BLOCK) {
            unsigned n = copy_plain(s.p + i, *to);
            *to += n;
            i += n;
            if (n == BLOCK || i >= part)
                continue;
        }
        i += escape_one(s.p + i, s.n - i, any_bytes, to, replaced);
    }
    return i;
}

/* Near the end of what is allowed it is tried out first. A function of its own, so that others need no such room. */
static NOINLINE size_t escape_near_end(struct buf *out, struct str s, size_t part, bool any_bytes,
                                       bool *replaced)
{
    char last[GROWTH * (PART + BLOCK)];
    char *to = last;
    size_t n = escape_part(s, part, any_bytes, &to, replaced);
    buf_add(out, last, (size_t)(to - last));
    return n;
}

/* Returns whether something had to be replaced. */
static bool escape_json_text(struct buf *out, struct str s, bool any_bytes)
{
    bool replaced = false;
    /* Most text needs an eighth more at the very most; more is made on the way. */
    if (s.n + s.n / 8 <= out->max - out->len)
        buf_reserve(out, s.n + s.n / 8);
    while (s.n && !out->failed) {
        size_t part = s.n < PART ? s.n : PART;
        size_t room = GROWTH * (part + BLOCK);
        size_t n;
        if (room > out->max - out->len) {
            n = escape_near_end(out, s, part, any_bytes, &replaced);
        } else {
            if (buf_reserve(out, room) < 0)
                break;
            char *to = out->data + out->len;
            n = escape_part(s, part, any_bytes, &to, &replaced);
            out->len = (size_t)(to - out->data);
        }
        s = (struct str){s.p + n, s.n - n};
    }
    return replaced;
}

void json_escape(struct buf *out, struct str s)
{
    escape_json_text(out, s, false);
}

void json_text_add(struct json_text *text, struct str piece)
{
    char both[2 * sizeof text->carry];
    size_t more = piece.n < sizeof text->carry ? piece.n : sizeof text->carry;
    text->bytes += piece.n;
    memcpy(both, text->carry, text->carried);
    memcpy(both + text->carried, piece.p, more);
    struct str joined = {both, text->carried + more};
    size_t done = 0;
    /* What began in the last piece, if it can be told by now what it is. */
    while (done < text->carried && utf8_cut(both + done, joined.n - done) > 0) {
        char one[GROWTH];
        char *to = one;
        done += escape_one(both + done, joined.n - done, false, &to, &text->replaced);
        buf_add(&text->out, one, (size_t)(to - one));
    }
    if (done < text->carried) {
        text->carried = joined.n - done;
        memmove(text->carry, both + done, text->carried);
        return;
    }
    piece = (struct str){piece.p + (done - text->carried), piece.n - (done - text->carried)};
    size_t whole = utf8_cut(piece.p, piece.n);
    text->replaced |= escape_json_text(&text->out, (struct str){piece.p, whole}, false);
    text->carried = piece.n - whole;
    memcpy(text->carry, piece.p + whole, text->carried);
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

/* Between quotes, with nothing to escape; `colon` behind it where it is a key. */
static void plain(struct json_out *j, const char *text, size_t n, bool colon)
{
    struct buf *out = j->out;
    if (buf_reserve(out, n + 2 + j->comma + colon) < 0)
        return;
    char *to = out->data + out->len;
    if (j->comma)
        *to++ = ',';
    *to++ = '"';
    memcpy(to, text, n);
    to += n;
    *to++ = '"';
    if (colon)
        *to++ = ':';
    out->len = (size_t)(to - out->data);
    j->comma = !colon;
}

void jo_key_n(struct json_out *j, const char *key, size_t n)
{
    plain(j, key, n, true);
}

static void quoted(struct json_out *j, struct str s, bool any_bytes)
{
    before_value(j);
    buf_add_char(j->out, '"');
    j->replaced |= escape_json_text(j->out, s, any_bytes);
    buf_add_char(j->out, '"');
}

void jo_str(struct json_out *j, struct str s)
{
    if (j->hide || j->redact)
        jo_logged(j, s, s.n);
    else
        quoted(j, s, false);
}

void jo_logged(struct json_out *j, struct str s, size_t max)
{
    size_t shown = s.n > max ? utf8_cut(s.p, max) : s.n;
    BUF_AT_END struct buf hidden = BUF_INIT(REDACT_OUT_MAX(shown));
    if (!redact(s, shown, &hidden))
        quoted(j, (struct str){s.p, shown}, false);
    else
        quoted(j, hidden.failed ? STR(REDACTED) : buf_str(&hidden), false);
}

void jo_own(struct json_out *j, const char *text)
{
    plain(j, text, strlen(text), false);
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

#ifdef __SSE2__
/* As copy_plain. */
static unsigned copy_without_backslash(const char *from, char *to)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)from);
    _mm_storeu_si128((__m128i *)(void *)to, v);
    unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(
        _mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
    return mask ? (unsigned)__builtin_ctz(mask) : BLOCK;
}
#else
static unsigned copy_without_backslash(const char *from, char *to)
{
    unsigned n = 0;
    memcpy(to, from, BLOCK);
    while (n < BLOCK && !needs_backslash(from[n]))
        n++;
    return n;
}
#endif

/* A block is copied only where so much is left to come, so `to` needs no more room than the text. */
static char *write_with_backslashes(char *to, const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (n - i >= BLOCK) {
            unsigned run = copy_without_backslash(p + i, to);
            to += run;
            i += run;
            if (run == BLOCK)
                continue;
        }
        if (needs_backslash(p[i]))
            *to++ = '\\';
        *to++ = p[i++];
    }
    return to;
}

/* JSON of ours has no control character and is UTF-8: only quotes and backslashes are left to escape. With
 * room for all of it the buffer stays where it is, so it can be read from while it is written to. */
void jo_written(struct json_out *j, size_t from, size_t n)
{
    struct buf *out = j->out;
    if (out->failed)
        return;
    before_value(j);
    size_t more = n;
    /* Of much text, or of text near the end of what is allowed, it is counted how much more there will be. */
    if (n > PART || 2 * n + 2 > out->max - out->len) {
        more = 0;
        for (size_t i = 0; i < n; i++)
            more += needs_backslash(out->data[from + i]);
    }
    if (buf_reserve(out, n + more + 2) < 0)
        return;
    char *to = out->data + out->len;
    *to++ = '"';
    to = write_with_backslashes(to, out->data + from, n);
    *to++ = '"';
    out->len = (size_t)(to - out->data);
}

void jo_kcontent(struct json_out *j, const char *key, struct str s)
{
    if (!j->redact)
        jo_kstr(j, key, s);
}

void jo_ktext_escaped(struct json_out *j, const char *key, const struct json_text *text,
                      bool leave_out)
{
    if (j->redact)
        return;
    jo_key(j, key);
    before_value(j);
    buf_add_char(j->out, '"');
    buf_add(j->out, text->out.data, text->out.len);
    for (size_t i = 0; !leave_out && i < text->carried;) {
        buf_add(j->out, "\xef\xbf\xbd", 3);
        i += utf8_broken(text->carry + i, text->carried - i);
    }
    buf_add_char(j->out, '"');
    j->replaced |= text->replaced || (text->carried && !leave_out);
    buf_fail_as(j->out, &text->out);
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
