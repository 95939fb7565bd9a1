/* The policy's side of the pipeline: judges each call, has hooks asked, lets calls wait for a person's yes, and takes
 * what a call costs before it runs. */
#ifndef SANDGATE_GATE_KEEPER_H
#define SANDGATE_GATE_KEEPER_H

#include "core/pipeline.h"
#include "store/approvals.h"

struct keeper;

/* Someone in this process who can ask a person. Told within a turn of the loop; may decide at once. */
struct keeper_listener {
    struct keeper_listener *next;
    /* A call of this gate waits from now on. */
    void (*asked)(struct keeper_listener *self, const struct approval *approval);
    /* It waits no more; approval->state says why (decided here or elsewhere, timed out, cancelled). */
    void (*over)(struct keeper_listener *self, const struct approval *approval);
};
void keeper_listen(struct keeper *keeper, struct keeper_listener *listener);
void keeper_unlisten(struct keeper *keeper, struct keeper_listener *listener);

/* An approver's word about a call that waits in this gate or in another one of the same user. A yes for always writes
 * the proposed rule first and fails, without any effect, where that cannot be done. */
int keeper_decide(struct keeper *keeper, const char *id, const struct approval_decision *decision,
                  struct err *err);

#endif
