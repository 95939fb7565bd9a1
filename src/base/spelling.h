/* Words that were meant where another was written. */
#ifndef SANDGATE_BASE_SPELLING_H
#define SANDGATE_BASE_SPELLING_H

#include "base/buf.h"

/* Letters that have to be added, left out or changed (Levenshtein's distance); upper and lower case count as the same.
 * Longer words than this are as far apart as can be. */
#define SPELLING_MAX 48
size_t spelling_distance(struct str a, struct str b);

/* The distance up to which a word may stand for one that was written with `n` letters. */
size_t spelling_close(size_t n);

#endif
