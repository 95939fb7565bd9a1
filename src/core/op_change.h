/* What a session with an overlay has changed, as the worker tells it. Part of core/op.h. */
#ifndef SANDGATE_CORE_OP_CHANGE_H
#define SANDGATE_CORE_OP_CHANGE_H

#include "base/hash.h"
#include "core/op.h"
#include "core/path.h"

enum node_type { NODE_NONE, NODE_FILE, NODE_FOLDER, NODE_LINK, NODE_OTHER, NODE_TYPES };

struct op_node {
    enum node_type type;
    uint32_t mode; /* permission bits */
    int64_t size;
    unsigned char sha256[HASH_BYTES]; /* of a file; zeros where it is secret or cannot be read */
    struct str target;                /* of a link */
};

struct op_changed {
    struct str path;
    struct op_node before;
    struct op_node after;
    bool secret; /* by the rules: its content is told by nothing here */
    bool unread; /* it cannot be looked into: more may have changed */
};

/* Packed, as the lists of op_packed.h. */
void op_changed_add(struct buf *body, const struct op_changed *changed);
int op_changed_next(struct str *rest, struct op_changed *ret);

#endif
