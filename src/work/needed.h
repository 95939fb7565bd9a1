/* Finds a set of texts one of which every match of a pattern has in it. Pure.
 *
 * pattern.c reads the pattern and tells what it comes by, in order; characters that follow each other become
 * texts, the branches of a choice become a set of them. Of all sets that every match needs, the one that is likely to
 * be on the fewest lines is kept. */
#ifndef SANDGATE_WORK_NEEDED_H
#define SANDGATE_WORK_NEEDED_H

#include "work/texts.h"

struct needed;

enum needed_repeat { NEEDED_SOME, NEEDED_OPTIONAL, NEEDED_ANY }; /* 1 or more, 0 or 1, any number */

struct needed *needed_new(void);
void needed_free(struct needed *needed);

void needed_char(struct needed *needed, struct str c);
/* Something that stands for no fixed text: a set, an edge, an anchor. */
void needed_gap(struct needed *needed);
/* A set in brackets, by what stands between them. A few letters are a choice. */
void needed_set(struct needed *needed, struct str inside);
void needed_open(struct needed *needed);
void needed_or(struct needed *needed);
void needed_close(struct needed *needed);
/* What came last, a character, gap or group, is repeated. */
void needed_repeat(struct needed *needed, enum needed_repeat how);

/* No text: none is known. `ret_exact`: a match is one of these texts and nothing else. */
void needed_end(struct needed *needed, struct texts *ret, bool *ret_exact);

#endif
