/* Looking at the layer of a session with an overlay. Part of core/op.h. */
#ifndef SANDGATE_CORE_OP_OVERLAY_H
#define SANDGATE_CORE_OP_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* What the upper layer of an overlay changes in the root that it lies over. The body is packed op_changed
 * (core/op_change.h); a folder stands before what is in it. */
struct op_layer_list_request {
    int64_t root;
    struct str path;
    int64_t layer;    /* the root with the layer */
    int64_t max;      /* entries; more are an error */
    int64_t since_ns; /* what was changed in the root later is in conflict; 0: that is not asked */
};

struct op_layer_list_reply {
    int64_t count;
    int64_t bytes; /* that the layer's files take of the disk */
};

/* Takes changes of a layer over into the root, which nobody has mounted meanwhile. The request's body is packed op_changed,
 * as they were looked at: what is something else by now is a conflict, and nothing is done. That of the reply is the paths
 * (op_layer) that were changed in the root while others were put in place: they stay in the layer. Without a body it ends
 * what a worker that was killed has begun. */
struct op_layer_commit_request {
    int64_t root;
    struct str path;
    int64_t layer;
    struct str tag; /* of temporary files */
    bool recover;
};

struct op_layer_commit_reply {
    int64_t taken;
    int64_t left;
    bool empty; /* the layer has no changes any more */
};

/* The body is the unified diff of one file, with its two lines of names; empty where the content is the same. */
struct op_layer_diff_request {
    int64_t root;
    struct str path;
    int64_t layer;
};

struct op_layer_diff_reply {
    bool binary; /* there is no diff: it is no text, too large or secret */
    bool cut;    /* the diff is longer */
};

#endif
