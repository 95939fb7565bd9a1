#include "work/texts.h"

#include <stdint.h>

void texts_init(struct texts *texts)
{
    *texts = (struct texts){.bytes = BUF_INIT(TEXTS_BYTES)};
}

void texts_done(struct texts *texts)
{
    buf_done(&texts->bytes);
}

void texts_clear(struct texts *texts)
{
    texts->bytes.len = 0;
    texts->n = 0;
}

/* A set that could not be kept is empty, and says so. */
static void clear_failed_texts(struct texts *texts)
{
    if (texts->bytes.failed)
        texts_clear(texts);
}

void texts_restart(struct texts *texts)
{
    texts_clear(texts);
    buf_add_char(&texts->bytes, '\0');
    texts->n = texts->bytes.failed ? 0 : 1;
}

void texts_copy(struct texts *to, const struct texts *from)
{
    texts_clear(to);
    if (from->n)
        buf_add(&to->bytes, from->bytes.data, from->bytes.len);
    to->bytes.failed = to->bytes.failed || from->bytes.failed;
    to->n = from->n;
    clear_failed_texts(to);
}

bool texts_next(const struct texts *texts, struct str *at)
{
    if (texts->n == 0)
        return false;
    const char *next = at->p ? at->p + at->n + 1 : texts->bytes.data;
    if (next >= texts->bytes.data + texts->bytes.len)
        return false;
    *at = (struct str){next, strlen(next)};
    return true;
}

size_t texts_shortest(const struct texts *texts)
{
    size_t least = SIZE_MAX;
    for (struct str text = {0}; texts_next(texts, &text);)
        least = text.n < least ? text.n : least;
    return texts->n ? least : 0;
}

void texts_extend(struct texts *texts, struct str bytes)
{
    if (texts->n == 1) {
        texts->bytes.len--;
        buf_add(&texts->bytes, bytes.p, bytes.n);
        buf_add_char(&texts->bytes, '\0');
        clear_failed_texts(texts);
        return;
    }
    struct texts longer;
    texts_init(&longer);
    for (struct str text = {0}; texts_next(texts, &text); longer.n++) {
        buf_add(&longer.bytes, text.p, text.n);
        buf_add(&longer.bytes, bytes.p, bytes.n);
        buf_add_char(&longer.bytes, '\0');
    }
    longer.bytes.failed = longer.bytes.failed || texts->bytes.failed;
    texts_done(texts);
    *texts = longer;
    clear_failed_texts(texts);
}

void texts_shorten(struct texts *texts, size_t n)
{
    struct buf *b = &texts->bytes;
    size_t to = 0;
    for (size_t from = 0; from < b->len;) {
        size_t kept = strlen(b->data + from) - n;
        memmove(b->data + to, b->data + from, kept);
        b->data[to + kept] = '\0';
        from += kept + n + 1;
        to += kept + 1;
    }
    b->len = to;
}

static bool has_text(const struct texts *texts, struct str wanted)
{
    for (struct str text = {0}; texts_next(texts, &text);) {
        if (text.n == wanted.n && memcmp(text.p, wanted.p, wanted.n) == 0)
            return true;
    }
    return false;
}

bool texts_join(struct texts *texts, const struct texts *more)
{
    for (struct str text = {0}; texts_next(more, &text);) {
        if (has_text(texts, text))
            continue;
        if (texts->n == TEXTS_MAX)
            return false;
        buf_add(&texts->bytes, text.p, text.n + 1);
        texts->n++;
    }
    clear_failed_texts(texts);
    return !texts->bytes.failed && !more->bytes.failed;
}

bool texts_multiply(struct texts *texts, const struct texts *more)
{
    struct texts product;
    if (texts->n * more->n > TEXTS_PRODUCT_MAX || more->bytes.failed)
        return false;
    texts_init(&product);
    for (struct str a = {0}; texts_next(texts, &a);) {
        for (struct str b = {0}; texts_next(more, &b); product.n++) {
            buf_add(&product.bytes, a.p, a.n);
            buf_add(&product.bytes, b.p, b.n + 1);
        }
    }
    product.bytes.failed = product.bytes.failed || texts->bytes.failed;
    texts_done(texts);
    *texts = product;
    clear_failed_texts(texts);
    return true;
}
