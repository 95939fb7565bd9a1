/* What a search found, packed into the body of its reply: a record for each file, then one for each of its
 * lines, in order. A line stands there once, however many matches it is the context of. */
#ifndef SANDGATE_CORE_FOUND_H
#define SANDGATE_CORE_FOUND_H

#include <stdint.h>

#include "base/buf.h"

enum found_kind { FOUND_FILE, FOUND_MATCH, FOUND_CONTEXT };

/* Spans of one line that are kept. */
#define FOUND_SPANS_MAX 64

/* Where in the whole line, in bytes from its beginning; the end is not part of it. */
struct found_span {
    uint32_t start;
    uint32_t end;
};

struct found {
    enum found_kind kind;
    int64_t number;  /* of the line, from 1; of a file: how many of its lines match */
    struct str text; /* the line without its end; of a file: its path seen from the folder that is
                         * searched, "" when it is that path itself */
    int64_t cut_before; /* bytes of the line that stand before text and are left out */
    int64_t cut_after;  /* and behind it */
    const char *spans;  /* packed, of a match only; found_span reads one */
    size_t n_spans;
};

void found_add(struct buf *body, const struct found *found, const struct found_span *spans);
/* 1 with a record, 0 at the end, -1 when the bytes are not well formed. */
int found_next(struct str *rest, struct found *ret);
struct found_span found_span(const struct found *found, size_t i);

#endif
