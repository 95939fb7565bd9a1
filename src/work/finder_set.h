/* Several texts in plain bytes at once.
 *
 * Of each text the three rarest bytes in a row are its window. Where the bytes of a text at hand fit the windows of a
 * group of texts, known by their halves in eight groups of one bit each, the texts of that group are compared. */
#ifndef SANDGATE_WORK_FINDER_SET_H
#define SANDGATE_WORK_FINDER_SET_H

#include "work/texts.h"

#include <stdint.h>

#define FINDER_WINDOW 3
#define FINDER_GROUPS 8

struct finder_text {
    struct str text;
    size_t at; /* of its window */
};

/* Shared by threads. */
struct finder_set {
    struct finder_text texts[TEXTS_MAX]; /* in order of their windows; borrowed */
    size_t n;
    size_t first[FINDER_GROUPS + 1]; /* of each group */
    bool fold;                       /* ASCII letters in either case; the texts are in lower case */
    uint8_t low[FINDER_WINDOW][16];  /* the groups that have a byte with this half in this place */
    uint8_t high[FINDER_WINDOW][16];
    uint8_t whole[FINDER_WINDOW][256]; /* the same for whole bytes */
};

/* Texts of at least two bytes. One that holds another is left out. */
void finder_set_init(struct finder_set *set, const struct texts *texts, bool fold);
/* A place within the first of the texts in text[from..n), or n. */
size_t finder_set_find(const struct finder_set *set, const char *text, size_t n, size_t from);

#endif
