#include "base/hash.h"

/* The one-shot provider interface reads configuration files on first use and costs several
 * microseconds a digest; the plain functions use the same assembly and touch no file. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <strings.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct hash), "struct hash holds a SHA256_CTX");

static SHA256_CTX *sha256_context(struct hash *h)
{
    return (SHA256_CTX *)(void *)h->state;
}

void hash_begin(struct hash *h)
{
    SHA256_Init(sha256_context(h));
}

void hash_add(struct hash *h, const void *bytes, size_t n)
{
    SHA256_Update(sha256_context(h), bytes, n);
}

void hash_end_raw(struct hash *h, unsigned char out[HASH_BYTES])
{
    SHA256_Final(out, sha256_context(h));
}

void hash_raw(const void *bytes, size_t n, unsigned char out[HASH_BYTES])
{
    struct hash h;
    hash_begin(&h);
    hash_add(&h, bytes, n);
    hash_end_raw(&h, out);
}

void hash_end_hex(struct hash *h, char out[HASH_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[HASH_BYTES];
    SHA256_Final(raw, sha256_context(h));
    for (size_t i = 0; i < HASH_BYTES; i++) {
        out[2 * i] = digits[raw[i] >> 4];
        out[2 * i + 1] = digits[raw[i] & 15];
    }
    out[HASH_HEX] = '\0';
}

void hash_hex(const void *bytes, size_t n, char out[HASH_HEX + 1])
{
    struct hash h;
    hash_begin(&h);
    hash_add(&h, bytes, n);
    hash_end_hex(&h, out);
}

bool hash_is_hex(struct str text)
{
    if (text.n != HASH_HEX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
    }
    return true;
}

bool hash_hex_equal(struct str text, const char hex[HASH_HEX + 1])
{
    return text.n == HASH_HEX && strncasecmp(text.p, hex, HASH_HEX) == 0;
}
