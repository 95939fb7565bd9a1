/* Plain bytes in plain bytes, fast: a fixed text, line ends, and what a piece of a file is made of. */
#ifndef SANDGATE_WORK_FINDER_H
#define SANDGATE_WORK_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

/* A text to look for. Two of its bytes, the rarest ones, are compared at all places at once; the rest only
 * where both fit. Shared by threads. */
struct finder {
    struct str text;   /* borrowed; with `fold`, its ASCII letters are in lower case */
    bool fold;         /* ASCII letters in either case */
    size_t at[2];      /* offsets of the two bytes; the same where the text has but one */
    uint8_t byte[2];   /* in lower case with fold */
    uint8_t letter[2]; /* 0x20 with fold where it is a letter, else 0 */
};

/* The text must not be empty. */
void finder_init(struct finder *finder, struct str text, bool fold);
/* The first place in text[from..n), or n. */
size_t finder_find(const struct finder *finder, const char *text, size_t n, size_t from);

/* How rare a byte is in source code and prose. */
unsigned finder_rank(uint8_t byte);
/* Whether the processor has AVX2 and BMI1. */
bool finder_has_avx2(void);

size_t finder_count_lines(const char *text, size_t n); /* of '\n' */

enum { FINDER_NUL = 1, FINDER_HIGH = 2 };
/* Whether there is a NUL, whether there are bytes beyond ASCII. */
unsigned finder_kinds(const char *text, size_t n);

#endif
