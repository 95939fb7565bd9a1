/* Secrets in text, found by their shape or by the name before them, and replaced by `[redacted]`.
 *
 * For logs: it is better to hide a word too many than to keep a key. Any bytes, in one pass over them; UTF-8 stays
 * UTF-8. */
#ifndef SANDGATE_BASE_REDACT_H
#define SANDGATE_BASE_REDACT_H

#include <stdbool.h>

#include "base/buf.h"

#define REDACTED "[redacted]"
#define REDACT_NAMES_MAX 64
#define REDACT_NAME_MAX 64

/* Names besides the usual ones whose values are secrets. Compared without case, `_`, `-` and `.`, as a whole. To be
 * called before there are threads; the list is copied. False: there are too many, or one is too long or empty. */
bool redact_use_names(const struct str *names, size_t n);
/* Whether the value behind this name (a key, a variable) is to be hidden. */
bool redact_is_name(struct str name);

/* True: the text, or as much of it as lies in its first `shown` bytes, was written to `out` without its secrets.
 * False: there is none, and nothing was written. What lies behind `shown` is looked at as far as it tells what
 * stands before. At most REDACT_OUT_MAX(n) bytes are written. */
bool redact(struct str text, size_t shown, struct buf *out);
/* Of a list of words (an argv): where in `word` a secret begins that goes to its end, or its length. `before` are the words
 * before it, each with a blank behind it; `last` is where the last of them begins. Finds what redact() cannot in the words
 * put together, because a blank or a quote in one of them would end it. */
size_t redact_in_word(struct str before, size_t last, struct str word);
#define REDACT_OUT_MAX(n) (4 * (n) + 16)

/* Where the secrets of a text are, as an array of ranges in their order. False: there is none. */
struct redact_range {
    size_t from;
    size_t to;
};
bool redact_find(struct str text, struct buf *ranges);

/* Who knows more of the text says where the secret at [from, to) ends; `from`: it is none. */
struct redact_ends {
    size_t (*end)(void *self, size_t from, size_t to);
    void *self;
};
/* How far the text was looked through: secrets of which next to nothing is hidden could take too long. */
size_t redact_find_ends(struct str text, const struct redact_ends *ends, struct buf *ranges);

#endif
