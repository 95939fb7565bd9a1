/* A call that waits as rows of a terminal: what, why, for whom, where, and everything else of it, whole.
 *
 * Every row has a label or blanks and then a mark: `|` begins a line of the text, `>` goes on with one that was too long
 * for the terminal. On a narrow terminal a label has a row to itself. So nothing in the text can look like a row of ours, nor a part of a line like a line. Rows are made
 * one at a time, since a text can have millions of them. */
#ifndef SANDGATE_FRONT_APPROVAL_ROWS_H
#define SANDGATE_FRONT_APPROVAL_ROWS_H

#include "base/buf.h"
#include "store/approvals.h"

struct approval_style {
    size_t width;
    bool colours;
};

/* How many there are. */
size_t approval_rows_count(const struct approval *approval, const struct approval_style *style);
/* Rows from `first` on, at most `max`. */
void approval_rows_add(const struct approval *approval, const struct approval_style *style,
                       size_t first, size_t max, struct buf *out);

/* Text of ours or of others that is no approval, as rows with an empty label. */
void approval_rows_text(struct str text, const struct approval_style *style, struct buf *out);

#endif
