/* Base64 with padding (RFC 4648); decoding is strict. */
#ifndef SANDGATE_BASE_BASE64_H
#define SANDGATE_BASE_BASE64_H

#include "base/buf.h"

void base64_encode(struct buf *out, const void *bytes, size_t n);
/* -EINVAL for anything but canonical base64. */
int base64_decode(struct buf *out, struct str text);

#endif
