/* Text of others, made fit for a terminal and for a person who decides by what is seen.
 *
 * What moves the cursor, hides, turns the direction, or looks like a space without being one is written out: `\n` `\e`
 * `\x9b` (a byte that is not UTF-8), `\u{202e}`; a backslash is written `\\`, so that none of it can be imitated. Long runs
 * of spaces, which could push text out of sight or into a line of its own, become `\[72 spaces]`, and what does not fit
 * is left out of the middle: `\[1234 bytes left out]`. Everything but what is left out can be read back. */
#ifndef SANDGATE_BASE_SHOWN_H
#define SANDGATE_BASE_SHOWN_H

#include "base/buf.h"

/* Less than this is taken as this: the beginning, the end and the mark between them need room. */
#define SHOWN_MIN 64

/* One line of at most `max` bytes. */
void shown_line(struct str text, size_t max, struct buf *out);
/* Line breaks and tabs stay and nothing is left out. Each line has `margin` before it, and its end; blanks at its end are
 * written out, since nobody could see them. */
void shown_text(struct str text, const char *margin, struct buf *out);

/* Whether it can be printed as it is: nothing in it that the above would not have written. `lines`: line breaks and
 * tabs are fine. */
bool shown_is_fit(struct str text, bool lines);

#endif
