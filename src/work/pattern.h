/* Reads a regular expression just far enough to search by lines with it. Pure.
 *
 * The engine knows nothing of lines: its classes match line ends like any other character. Here each class
 * is written anew without them, so that a match never leaves its line and a whole file can be searched at
 * once. Where that cannot be done, each line has to be looked at by itself. */
#ifndef SANDGATE_WORK_PATTERN_H
#define SANDGATE_WORK_PATTERN_H

#include "base/buf.h"
#include "base/err.h"
#include "work/texts.h"

#define PATTERN_MAX (64u << 10)

enum pattern_variant {
    PATTERN_WHOLE, /* matches never leave a line */
    PATTERN_ASCII, /* the same, sets cut down to ASCII: for text that has nothing else */
    PATTERN_VARIANTS
};

struct pattern {
    struct buf text[PATTERN_VARIANTS];
    struct texts texts; /* every match holds one of them; none: none is known */
    bool exact;         /* and is nothing else */
    struct buf set; /* a set that every match has a character of and that may have none of ASCII; or
                          * empty */
    bool literal;   /* the pattern means just that text */
    bool
        keeps_cr; /* the pattern names `\r`: it is a character of the line. Else one before the end of a
                          * line belongs to that end */
    bool edges;   /* looks at what stands beside: \b and its like */
    bool by_line; /* `text` cannot be used: the pattern as it came, on each line by itself */
    bool folds;   /* case is ignored somewhere in it */
    bool verbose; /* with spaces and comments in it */
    bool
        beyond_ascii; /* names characters beyond ASCII; where case is ignored, some of these are letters of
                          * ASCII as well */
};

/* Never fails on what the engine may refuse anyhow; fails on what would silently find nothing (a line end) or
 * what the engine does not explain well (look-around, back-references). `source` has no NUL. */
int pattern_read(struct pattern *ret, struct str source, struct err *err);
/* The text taken as it is. */
int pattern_literal(struct pattern *ret, struct str source, struct err *err);
void pattern_done(struct pattern *pattern);

#endif
