/* Records are a chain: each ends with a hash over the one before it and itself.
 *
 * The last 74 bytes of a line, its newline aside, are `"hash":"…"}` with 64 lowercase digits: the SHA-256 of the
 * hash of the record before, as its 64 digits, and of the line's own bytes before those 74. */
#ifndef SANDGATE_STORE_AUDIT_CHAIN_H
#define SANDGATE_STORE_AUDIT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"

/* No record is longer, its newline included: recovery can read back whatever a gate wrote. */
#define AUDIT_RECORD_MAX (2u << 20)
#define CHAIN_TAIL 74
/* What stands for the hash of a record before the first one of all. */
#define CHAIN_NONE "0000000000000000000000000000000000000000000000000000000000000000"
#define GATE_ID_MAX 64

/* How far a chain has come. */
struct chain_head {
    int64_t seq;
    char hash[HASH_HEX + 1];
};

/* Ends the record that begins at `from` and still lacks its hash and its brace, newline included. `hash` is that of
 * the record before and becomes this one's. */
void chain_seal(struct buf *out, size_t from, char hash[HASH_HEX + 1]);

/* What a line says of itself, without its newline. */
struct chain_record {
    struct str body; /* what is hashed */
    struct str hash; /* 64 digits */
    int64_t seq;
    struct str kind;
    struct str gate; /* p is NULL: none */
};

/* The hash alone: 64 bytes in the line, or p NULL when the line does not end with one. */
struct str chain_hash_of(struct str line);
/* When the record was written, by its first field, in ms; 0 where it does not begin so. */
int64_t chain_time_of(struct str line);
/* False for what no gate wrote like this. */
bool chain_read(struct str line, struct chain_record *ret);
/* Whether the line's hash is the one it must have behind a record with the hash `before`. */
bool chain_follows(struct str line, const char before[HASH_HEX + 1]);

/* Copies 64 digits and a NUL. */
void chain_copy(char to[HASH_HEX + 1], struct str hash);

#endif
