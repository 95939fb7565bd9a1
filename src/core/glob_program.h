/* What a glob is made of, for the files that make and run it.
 *
 *   text -> glob_parse.c: instructions, as written -> glob_build.c: nodes, what the places mean
 *        -> glob_table.c: a table of states, where it stays small -> glob.c: matching */
#ifndef SANDGATE_CORE_GLOB_PROGRAM_H
#define SANDGATE_CORE_GLOB_PROGRAM_H

#include <stdint.h>

#include "base/utf8.h"
#include "core/glob.h"

/* A byte that is part of no UTF-8 character is this plus its value. */
#define GLOB_BYTE 0x110000u

enum glob_op {
    GLOB_CHAR,
    GLOB_ANY,
    GLOB_SET,
    GLOB_STAR,
    GLOB_SLASH,
    GLOB_WHOLE, /* two stars: before the GLOB_STAR that they are when not a whole component */
    GLOB_SPLIT, /* go on behind this, or at `value` */
    GLOB_JUMP,  /* go on at `value` */
    GLOB_END,
};

struct glob_range {
    uint32_t low;
    uint32_t high;
};

/* Instructions only ever lead forward. */
struct glob_instr {
    enum glob_op op;
    uint16_t at;    /* where in the text */
    bool negated;   /* of a set */
    uint32_t value; /* the character, a set's first range, or where to go on: 0 is nowhere */
    uint32_t count; /* of a set's ranges */
};

/* Every text is read as if two stars and a slash stood before it; a pattern that is anchored begins
 * behind them. */
#define GLOB_LEAD 3
#define GLOB_INSTRS_MAX (2 * GLOB_TEXT_MAX + GLOB_LEAD + 1)

struct glob_source {
    struct str text;
    bool bytes; /* each byte is a character */
    struct glob_instr *instrs;
    uint32_t count;
    struct glob_range *ranges;
    uint32_t range_count;
    uint32_t tail; /* from this instruction on only characters follow, behind a star; or 0 */
};

enum glob_kind {
    NODE_EPSILON,
    NODE_CHAR,
    NODE_ANY,
    NODE_SET,
    NODE_STAR, /* stays on all but `/` */
    NODE_DEEP, /* stays on everything, and leads on at `/` */
    NODE_TAIL, /* stays on everything */
    NODE_ACCEPT,
};

/* Without reading, a node leads to `free`; on its character, to `out`. Free ways lead to lower
 * numbers, so that one sweep down follows them all. */
struct glob_node {
    enum glob_kind kind;
    bool negated;
    uint32_t value;
    uint32_t count;
    uint32_t out;
    uint32_t free[2];
};

#define GLOB_DEAD 0
#define GLOB_ACCEPT 1
/* The places of glob_build.c, and the two above. */
#define GLOB_PLACES 11
#define GLOB_WORDS_MAX ((GLOB_INSTRS_MAX * GLOB_PLACES + 2) / 64 + 1)

struct glob_table {
    uint32_t start;
    uint32_t width;     /* of a row: a cell a class, and one that says whether it accepts */
    uint32_t intervals; /* of characters beyond ASCII too */
    uint32_t lows[128];
    uint8_t classes[128];
    uint8_t ascii[128];
    uint16_t cells[]; /* the first row is the dead state; a cell is the next row's offset */
};

struct glob {
    bool bytes; /* each byte of a path is a character */
    struct glob_node *nodes;
    uint32_t count;
    uint32_t start;
    uint32_t words; /* of a set of nodes */
    struct glob_range *ranges;
    struct glob_table *table; /* or NULL: too many states, or not made yet */
    unsigned used;            /* glob_used */
    bool folders_only;
    char *prefix;
    size_t prefix_length;
    char *suffix; /* every match ends with it */
    size_t suffix_length;
};

/* The character at `p`, of n > 0 bytes. */
static inline uint32_t glob_character(bool bytes, const char *p, size_t n, size_t *ret_length)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t length = bytes ? u[0] < 0x80 : utf8_sequence(p, n);
    *ret_length = length ? length : 1;
    switch (length) {
    case 0:
        return GLOB_BYTE + u[0];
    case 1:
        return u[0];
    case 2:
        return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3:
        return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    default:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
               (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    }
}

int glob_fail(struct err *err, struct str text, size_t at, const char *what);

int glob_parse(struct str text, struct glob_source *ret, struct err *err);
void glob_source_done(struct glob_source *source);

/* Fills in nodes, start, folders_only. */
int glob_build(const struct glob_source *source, bool anywhere, struct glob *glob, struct err *err);

/* Adds what can be reached without reading. */
void glob_close(const struct glob *glob, uint64_t *set);
/* Where a closed set leads on one character; `next` is overwritten. */
void glob_move(const struct glob *glob, const uint64_t *set, uint32_t c, uint64_t *next);

/* NULL when the table would be large. */
struct glob_table *glob_table_new(const struct glob *glob);
uint32_t glob_table_class(const struct glob_table *table, uint32_t c);

#endif
