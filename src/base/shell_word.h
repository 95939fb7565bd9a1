/* Words as one types them: what bash reads of them is exactly the bytes that were given, and nothing in them acts on a
 * terminal. */
#ifndef SANDGATE_BASE_SHELL_WORD_H
#define SANDGATE_BASE_SHELL_WORD_H

#include "base/buf.h"

/* Plain where that is enough, else in single quotes, else as `$'...'` with escapes: control characters, what is not
 * UTF-8, invisible characters and those that turn the direction of text. NUL cannot stand in a word and is written
 * `\x00`, which bash takes for its end. */
void shell_word(struct str word, struct buf *out);
/* The same for the first word of a command, which bash must not take for an assignment or a keyword. */
void shell_program(struct str word, struct buf *out);
/* In single quotes, whatever it is. */
void shell_quoted(struct str word, struct buf *out);

#endif
