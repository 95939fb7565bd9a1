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
    bool
        conflict; /* the project's was changed since the session began; in a commit: it is taken over all the same */
    bool guarded; /* files.protected names it: editors, agents, CI and git obey it */
    bool git;     /* it lies in a git directory */
    bool
        special; /* no file, folder or link, or what it has to keep cannot be kept: it is never taken over */
    bool drop; /* in a commit: the layer's is given up */
};

/* Packed, as the lists of op_packed.h. */
void op_changed_add(struct buf *body, const struct op_changed *changed);
int op_changed_next(struct str *rest, struct op_changed *ret);

#endif
