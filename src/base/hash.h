/* SHA-256, streamed, and hexadecimal text of it. */
#ifndef SANDGATE_BASE_HASH_H
#define SANDGATE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define HASH_BYTES 32
#define HASH_HEX 64

/* Room for libcrypto's SHA256_CTX, kept opaque so that its headers stay in hash.c. */
struct hash {
    _Alignas(8) unsigned char state[128];
};

void hash_begin(struct hash *h);
void hash_add(struct hash *h, const void *bytes, size_t n);
void hash_end_raw(struct hash *h, unsigned char out[HASH_BYTES]);
void hash_raw(const void *bytes, size_t n, unsigned char out[HASH_BYTES]);
/* Writes 64 hexadecimal digits and a NUL. */
void hash_end_hex(struct hash *h, char out[HASH_HEX + 1]);
void hash_hex(const void *bytes, size_t n, char out[HASH_HEX + 1]);

/* 64 hexadecimal digits, either case. */
bool hash_is_hex(struct str text);
bool hash_hex_equal(struct str text, const char hex[HASH_HEX + 1]);

#endif
