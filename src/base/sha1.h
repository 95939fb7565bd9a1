/* SHA-1, which git names its objects by. For nothing else: it does not keep apart what someone makes to collide. */
#ifndef SANDGATE_BASE_SHA1_H
#define SANDGATE_BASE_SHA1_H

#include <stddef.h>

#define SHA1_BYTES 20

struct sha1 {
    _Alignas(8) unsigned char state[128];
};

void sha1_begin(struct sha1 *h);
void sha1_add(struct sha1 *h, const void *bytes, size_t n);
void sha1_end(struct sha1 *h, unsigned char out[SHA1_BYTES]);
void sha1(const void *bytes, size_t n, unsigned char out[SHA1_BYTES]);

#endif
