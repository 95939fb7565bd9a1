#include "work/line_ends.h"

#include <string.h>

size_t line_ends_next(struct str text, size_t from, bool *ret_crlf)
{
    const char *at = from < text.n ? memchr(text.p + from, '\n', text.n - from) : NULL;
    if (!at)
        return LINE_ENDS_NONE;
    *ret_crlf = at > text.p && at[-1] == '\r';
    return (size_t)(at - text.p);
}

int line_ends_lead(struct str text)
{
    size_t counts[2] = {0, 0};
    bool crlf = false;
    for (size_t at = 0; (at = line_ends_next(text, at, &crlf)) != LINE_ENDS_NONE; at++)
        counts[crlf]++;
    return (counts[1] > counts[0]) - (counts[1] < counts[0]);
}

bool line_ends_half(struct str text)
{
    return text.n && text.p[text.n - 1] == '\r';
}

bool line_ends_any(struct str text)
{
    return text.n && memchr(text.p, '\n', text.n);
}

bool line_ends_all(struct str text, bool crlf)
{
    size_t count = 0;
    bool is_crlf = false;
    for (size_t at = 0; (at = line_ends_next(text, at, &is_crlf)) != LINE_ENDS_NONE; at++) {
        if (is_crlf != crlf)
            return false;
        count++;
    }
    return count > 0;
}

static bool is_crlf_at(struct str text, size_t at)
{
    return at + 1 < text.n && text.p[at] == '\r' && text.p[at + 1] == '\n';
}

bool line_ends_same(struct str a, struct str b)
{
    size_t i = 0;
    size_t k = 0;
    while (i < a.n && k < b.n) {
        i += is_crlf_at(a, i);
        k += is_crlf_at(b, k);
        if (a.p[i++] != b.p[k++])
            return false;
    }
    return i == a.n && k == b.n;
}

void line_ends_fold(struct str text, struct buf *out)
{
    size_t done = 0;
    bool crlf = false;
    buf_reserve(out, text.n);
    for (size_t at = 0; (at = line_ends_next(text, at, &crlf)) != LINE_ENDS_NONE; at++) {
        if (!crlf)
            continue;
        buf_add(out, text.p + done, at - 1 - done);
        done = at;
    }
    buf_add(out, text.p + done, text.n - done);
}

void line_ends_add_crlf(struct str text, struct buf *out)
{
    size_t done = 0;
    bool crlf = false;
    for (size_t at = 0; (at = line_ends_next(text, at, &crlf)) != LINE_ENDS_NONE; at++) {
        if (crlf)
            continue;
        buf_add(out, text.p + done, at - done);
        buf_add_char(out, '\r');
        done = at;
    }
    buf_add(out, text.p + done, text.n - done);
}

size_t line_ends_unfold(struct str text, size_t at, size_t n)
{
    while (n > 0) {
        size_t left = text.n - at < n ? text.n - at : n;
        const char *cr = left ? memchr(text.p + at, '\r', left) : NULL;
        if (!cr)
            return at + left;
        n -= (size_t)(cr - (text.p + at)) + 1;
        at = (size_t)(cr - text.p) + 1;
        at += at < text.n && text.p[at] == '\n';
    }
    return at;
}
