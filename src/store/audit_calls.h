/* Calls that have begun and not ended. In a balanced tree, because clients may choose ids that would make a hash
 * table slow, and in a list, because their order is worth keeping. */
#ifndef SANDGATE_STORE_AUDIT_CALLS_H
#define SANDGATE_STORE_AUDIT_CALLS_H

#include <stdint.h>

#include "base/attr.h"

#define OPEN_CALLS_MAX 65536
#define OPEN_BYTES_MAX (4u << 20)

struct open_call {
    struct open_call *prev;
    struct open_call *next;
    struct str id;
    struct str tool;
    char text[];
};

struct audit_calls {
    void *tree;
    struct open_call *first;
    struct open_call *last;
    size_t count;
    size_t bytes;
    int64_t not_followed; /* there were too many */
};

void audit_calls_begin(struct audit_calls *calls, struct str id, struct str tool);
void audit_calls_end(struct audit_calls *calls, struct str id);
void audit_calls_done(struct audit_calls *calls);

#endif
