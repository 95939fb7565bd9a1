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

bool line_ends_any(struct str text)
{
    return text.n && memchr(text.p, '\n', text.n);
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
