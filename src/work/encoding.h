/* Text of files that are not UTF-8, so that it can be compared with the UTF-8 of a request. */
#ifndef SANDGATE_WORK_ENCODING_H
#define SANDGATE_WORK_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum encoding { ENCODING_BYTES, ENCODING_UTF16LE, ENCODING_UTF16BE };

/* By the byte order mark; anything else is just bytes. */
enum encoding encoding_of(struct str file);

/* UTF-16 as UTF-8, the mark included. A surrogate without its other half becomes three bytes, as if
 * it were a character, so that the way back gives the same units. An odd last byte is left out. */
int encoding_from_utf16(struct str file, enum encoding encoding, struct buf *out);
void encoding_add_utf16(uint32_t c, enum encoding encoding, struct buf *out);
/* The way back. Bytes that such a text cannot have become U+FFFD. */
int encoding_to_utf16(struct str text, enum encoding encoding, struct buf *out);

/* Valid UTF-8 as Latin-1. Returns 0, or the first character that is not in Latin-1. */
uint32_t encoding_to_latin1(struct str text, struct buf *out);

bool encoding_is_ascii(struct str text);
/* True when more bytes above ASCII are no UTF-8 than there are characters of UTF-8 beyond ASCII: two
 * letters of Latin-1 look like one of these now and then, and a text in UTF-8 may be broken. */
bool encoding_is_single_byte(struct str text);

#endif
