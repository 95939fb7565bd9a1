/* Bytes of a file as text and back, under the names that Node gives its encodings. */
#ifndef SANDGATE_TOOLS_NODE_ENCODING_H
#define SANDGATE_TOOLS_NODE_ENCODING_H

#include "base/buf.h"
#include "base/err.h"

enum node_encoding {
    NODE_UTF8,
    NODE_UTF16LE,
    NODE_LATIN1,
    NODE_ASCII,
    NODE_BASE64,
    NODE_BASE64URL,
    NODE_HEX,
    NODE_COUNT
};

/* One name for each; NULL-ended. */
extern const char *const node_encoding_names[NODE_COUNT + 1];
/* All names that callers may use, as an argument's choices; NULL-ended. */
extern const char *const node_encoding_choices[];
enum node_encoding node_encoding_of(int64_t choice);

/* What the text stands for, added to `out`. Text that the encoding cannot express is an error; nothing is replaced or
 * left out. Not for NODE_UTF8, whose text is its bytes. */
int node_encoding_read(enum node_encoding encoding, struct str text, struct buf *out,
                       struct err *err);
/* The bytes as text in UTF-8, as Node's Buffer.toString() gives it, but surrogates without a partner become U+FFFD.
 * Not for NODE_UTF8. */
void node_encoding_write(enum node_encoding encoding, struct str bytes, struct buf *out);

#endif
