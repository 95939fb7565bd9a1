/* Texts whose lines end with `\n` or `\r\n`. */
#ifndef SANDGATE_WORK_LINE_ENDS_H
#define SANDGATE_WORK_LINE_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define LINE_ENDS_NONE SIZE_MAX

/* The line end at or behind `from`, or LINE_ENDS_NONE; *ret_crlf when it is `\r\n`. */
size_t line_ends_next(struct str text, size_t from, bool *ret_crlf);
bool line_ends_any(struct str text);
/* Whether it ends with `\r`. */
bool line_ends_half(struct str text);
/* Above 0 when more lines end with `\r\n` than with `\n` alone, below when fewer. */
int line_ends_lead(struct str text);
/* Whether there are line ends, and each is of this kind. */
bool line_ends_all(struct str text, bool crlf);
/* Whether two texts differ in the kinds of their line ends at most. */
bool line_ends_same(struct str a, struct str b);
/* Adds the text with `\n` for every `\r\n`. */
void line_ends_fold(struct str text, struct buf *out);
/* Adds the text with `\r\n` for every bare `\n`. */
void line_ends_add_crlf(struct str text, struct buf *out);
/* The place in text that is `n` bytes of folded text behind `at`. */
size_t line_ends_unfold(struct str text, size_t at, size_t n);

#endif
