/* Taking over what a session with an overlay has changed. */
#ifndef SANDGATE_FRONT_SESSION_COMMIT_H
#define SANDGATE_FRONT_SESSION_COMMIT_H

#include "front/options.h"
#include "session/commit_plan.h"
#include "session/named.h"

struct committing_gate; /* a gate of its own, whose cell has project and layer */

struct commit_result {
    int64_t taken;
    int64_t
        left; /* changed in the project while others were put in place: they stay in the session */
    bool empty;            /* nothing is left in the session */
    struct buf left_paths; /* op_layer, see op_layer_next */
};

/* Takes the session's lock where `named` has none (SESSION_BUSY where another process has it), ends a commit that was cut
 * off, and lists the changes. No cell of this process may have the layer. */
int committing_open(struct named *named, const struct options *o, struct committing_gate **ret,
                    struct err *err);
/* NULL-safe. */
void committing_close(struct committing_gate *c);
/* Each with what has to be known before it is taken over; empty where the session has no layer. */
const struct change_list *committing_changes(const struct committing_gate *c);
/* Once; the list is old then. `ret` is to be given to commit_result_done. */
int committing_do(struct committing_gate *c, const struct commit_plan *plan,
                  struct commit_result *ret, struct err *err);
void commit_result_done(struct commit_result *result);

/* Ends a commit of the session that was cut off, if there is one. The lock is the caller's. */
int session_recover(const struct named *named, const struct options *o, struct err *err);

/* `sandgate session commit`. */
int session_commit(struct named *named, const struct options *o, struct buf *out, struct err *err);

#endif
