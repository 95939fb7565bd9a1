/* A growing byte buffer that is given its ceiling when it is made.
 *
 * Adding never overruns and never exceeds `max`: the first refusal is remembered (`failed`), later
 * additions do nothing, and the caller checks once at the end. */
#ifndef SANDGATE_BASE_BUF_H
#define SANDGATE_BASE_BUF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/attr.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
    bool no_memory; /* it failed for want of memory, below its ceiling */
};

#define BUF_INIT(ceiling) ((struct buf){.max = (ceiling)})

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);

/* Room for n more bytes behind len, or -ENOBUFS past the ceiling, -ENOMEM. */
int buf_reserve(struct buf *b, size_t n);
int buf_add(struct buf *b, const void *bytes, size_t n);
/* For what cannot be left out: it may use the reserve (base/reserve.h), and failing ends the process. */
void buf_must_add(struct buf *b, const void *bytes, size_t n);
int buf_add_text(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
/* Drops what is behind the first `len` bytes, and a failure to add more. */
void buf_cut(struct buf *b, size_t len);
/* What was to be added has failed in another. */
void buf_fail_as(struct buf *b, const struct buf *other);
/* Empties it; gives memory back when more than `keep` bytes are held. */
void buf_reset(struct buf *b, size_t keep);
/* The contents with a NUL behind them; valid until the next change. NULL when that fails. */
const char *buf_text(struct buf *b);

static inline int buf_add_char(struct buf *b, char c)
{
    if (b->len < b->cap && !b->failed) {
        b->data[b->len++] = c;
        return 0;
    }
    return buf_add(b, &c, 1);
}

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->data ? b->data : "", b->len};
}

#define BUF_AT_END CLEANUP(buf_done)

#endif
