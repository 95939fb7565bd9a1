/* Bytes of a file as text and back, under the names that Node gives its encodings. */
#ifndef SANDGATE_TOOLS_ENCODING_H
#define SANDGATE_TOOLS_ENCODING_H

#include "base/buf.h"
#include "base/err.h"

enum encoding {
    ENCODING_UTF8,
    ENCODING_UTF16LE,
    ENCODING_LATIN1,
    ENCODING_ASCII,
    ENCODING_BASE64,
    ENCODING_BASE64URL,
    ENCODING_HEX,
    ENCODING_COUNT
};

/* One name for each; NULL-ended. */
extern const char *const encoding_names[ENCODING_COUNT + 1];
/* All names that callers may use, as an argument's choices; NULL-ended. */
extern const char *const encoding_choices[];
enum encoding encoding_of_choice(int64_t choice);

/* What the text stands for, added to `out`. Text that the encoding cannot express is an error; nothing is replaced or
 * left out. Not for ENCODING_UTF8, whose text is its bytes. */
int encoding_read(enum encoding encoding, struct str text, struct buf *out, struct err *err);
/* The bytes as text in UTF-8, as Node's Buffer.toString() gives it, but surrogates without a partner become U+FFFD.
 * Not for ENCODING_UTF8. */
void encoding_write(enum encoding encoding, struct str bytes, struct buf *out);

#endif
