#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/reserve.h"

void buf_init(struct buf *b, size_t max)
{
    *b = BUF_INIT(max);
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->max);
}

static int buf_fail(struct buf *b, int code)
{
    b->failed = true;
    b->no_memory = code == -ENOMEM;
    return code;
}

int buf_reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return -ENOBUFS;
    if (n <= b->cap - b->len)
        return 0;
    if (b->len > b->max || n > b->max - b->len)
        return buf_fail(b, -ENOBUFS);
    size_t need = b->len + n;
    size_t cap = b->cap ? b->cap : 256;
    while (cap < need)
        cap += cap / 2 + 64;
    if (cap > b->max)
        cap = b->max;
    char *data = realloc(b->data, cap);
    if (!data && cap > need)
        data = realloc(b->data, cap = need);
    if (!data)
        return buf_fail(b, -ENOMEM);
    b->data = data;
    b->cap = cap;
    return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t n)
{
    int r = buf_reserve(b, n);
    if (r < 0)
        return r;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    return 0;
}

void buf_must_add(struct buf *b, const void *bytes, size_t n)
{
    RESERVE_OPEN_HERE;
    if (buf_add(b, bytes, n) < 0)
        abort();
}

int buf_add_text(struct buf *b, const char *text)
{
    return buf_add(b, text, strlen(text));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
    char small[256];
    char *large = NULL;
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    /* Not straight into the buffer: the NUL behind the text might not fit below its ceiling. */
    if (n >= (int)sizeof small && vasprintf(&large, fmt, again) != n)
        n = -1;
    va_end(again);
    int r = n < 0 ? buf_fail(b, -ENOMEM) : buf_add(b, large ? large : small, (size_t)n);
    free(large);
    return r;
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

void buf_cut(struct buf *b, size_t len)
{
    b->len = len;
    b->failed = b->no_memory = false;
}

void buf_fail_as(struct buf *b, const struct buf *other)
{
    b->failed |= other->failed;
    b->no_memory |= other->no_memory;
}

void buf_reset(struct buf *b, size_t keep)
{
    buf_cut(b, 0);
    if (b->cap > keep) {
        free(b->data);
        b->data = NULL;
        b->cap = 0;
    }
}

const char *buf_text(struct buf *b)
{
    if (buf_reserve(b, 1) < 0)
        return NULL;
    b->data[b->len] = '\0';
    return b->data;
}
