#include "base/sha1.h"

/* As in hash.c: the plain functions touch no file. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

_Static_assert(sizeof(SHA_CTX) <= sizeof(struct sha1), "struct sha1 holds a SHA_CTX");

static SHA_CTX *sha1_context(struct sha1 *h)
{
    return (SHA_CTX *)(void *)h->state;
}

void sha1_begin(struct sha1 *h)
{
    SHA1_Init(sha1_context(h));
}

void sha1_add(struct sha1 *h, const void *bytes, size_t n)
{
    SHA1_Update(sha1_context(h), bytes, n);
}

void sha1_end(struct sha1 *h, unsigned char out[SHA1_BYTES])
{
    SHA1_Final(out, sha1_context(h));
}

void sha1(const void *bytes, size_t n, unsigned char out[SHA1_BYTES])
{
    struct sha1 h;
    sha1_begin(&h);
    sha1_add(&h, bytes, n);
    sha1_end(&h, out);
}
