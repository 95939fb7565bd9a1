/* Finds the lines of a text that a pattern matches, in time linear in the text whatever the pattern is.
 *
 * Semantics are those of the Rust regex crate, as ripgrep has them: Unicode, leftmost first; lines end with
 * `\n`, and a `\r` before it belongs to the end unless the pattern names it. Threads may share a matcher. */
#ifndef SANDGATE_WORK_MATCHER_H
#define SANDGATE_WORK_MATCHER_H

#include "base/err.h"
#include "core/found.h"

struct matcher;

struct matcher_options {
    struct str pattern;
    bool literal;
    bool ignore_case;
    bool word;        /* matches only where no letter, digit or underscore stands beside */
    unsigned threads; /* that would use it at once; 0: one */
};

/* Compiling is bounded in memory and so in time. NULL with ERR_INVALID_PATTERN, or ERR_SESSION_BUSY where what it may need
 * cannot be had. */
struct matcher *matcher_new(const struct matcher_options *options, struct err *err);
void matcher_free(struct matcher *matcher);
/* So many may use it at once, which can be fewer than were asked for. */
unsigned matcher_threads(const struct matcher *matcher);

/* A text of whole lines; only the last may lack its end. */
struct matcher_text {
    const char *p;
    size_t n;
    bool ascii;
};

struct matcher_line {
    size_t start;
    size_t end;  /* of what is matched: without its end */
    size_t next; /* where the next line begins */
};

/* The first line at or behind `from`, which is where a line begins. */
bool matcher_next(const struct matcher *matcher, const struct matcher_text *text, size_t from,
                  struct matcher_line *ret);
/* The line that begins at `start`. */
struct matcher_line matcher_line_at(const struct matcher *matcher, const struct matcher_text *text,
                                    size_t start);
/* Where in a line that matches; at most `max` spans. */
size_t matcher_spans(const struct matcher *matcher, const struct matcher_text *text,
                     const struct matcher_line *line, struct found_span *spans, size_t max);

static inline void matcher_freep(struct matcher **matcher)
{
    matcher_free(*matcher);
}

#endif
