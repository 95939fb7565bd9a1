/* A small set of texts without NUL, kept in one buffer. Pure. */
#ifndef SANDGATE_WORK_TEXTS_H
#define SANDGATE_WORK_TEXTS_H

#include "base/buf.h"

#define TEXTS_MAX 64
#define TEXTS_BYTES (256u << 10)
/* What a product of two sets may have: each text is compared wherever its first bytes fit. */
#define TEXTS_PRODUCT_MAX 16

struct texts {
    struct buf bytes; /* each text with a NUL behind it */
    size_t n;
};

/* The number of texts is 0. */
void texts_init(struct texts *texts);
void texts_done(struct texts *texts);
void texts_clear(struct texts *texts);
/* One empty text. */
void texts_restart(struct texts *texts);
void texts_copy(struct texts *to, const struct texts *from);

/* Adds bytes to the end of every text, or takes so many away again. */
void texts_extend(struct texts *texts, struct str bytes);
void texts_shorten(struct texts *texts, size_t n);
/* Adds those of `more` that are not there. False: too many; `texts` is then as before, or holds a part of them. */
bool texts_join(struct texts *texts, const struct texts *more);
/* Every text with every one of `more` behind it. False: too many; `texts` is then as before. */
bool texts_multiply(struct texts *texts, const struct texts *more);

size_t texts_shortest(const struct texts *texts);
/* Walks them: begin with a str whose p is NULL. False: there are no more. */
bool texts_next(const struct texts *texts, struct str *at);

#endif
