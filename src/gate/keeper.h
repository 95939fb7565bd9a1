/* The policy's side of the pipeline: judges each call, has hooks asked, lets calls wait for a person's yes, and takes
 * what a call costs before it runs. */
#ifndef SANDGATE_GATE_KEEPER_H
#define SANDGATE_GATE_KEEPER_H

#include "core/pipeline.h"
#include "policy/judge.h"
#include "session/session.h"
#include "store/approvals.h"
#include "store/audit.h"
#include "store/stats.h"

struct keeper;

struct keeper_options {
    uv_loop_t *loop;
    int state_fd;
    const struct config *config; /* the operator's; borrowed */
    struct session *session;
    bool own_hand;       /* a person typed the call: where no rule says otherwise nobody is asked */
    bool mcp;            /* calls come over MCP */
    bool once;           /* there is one call, and its session ends with it */
    bool durable;        /* what was charged survives a power loss */
    struct stats *stats; /* added to the state every now and then; borrowed */
};

/* Refuses rules that are wrong and a state that cannot be used. */
int keeper_new(struct keeper **ret_keeper, const struct keeper_options *options, struct err *err);
/* Where approvals are recorded; to be set before the first turn. */
/* Open, for the loop's thread; borrowed. */
struct db *keeper_db(struct keeper *keeper);
void keeper_use_audit(struct keeper *keeper, struct audit *audit);
/* No call may be in the pipeline. Run the loop once more before the memory goes. Accepts NULL. */
void keeper_free(struct keeper *keeper);

struct policy_hook keeper_hook(struct keeper *keeper);
/* The verdict on a call that is not submitted, step by step; nothing is counted, asked or run. -1: it would be
 * denied. call->tool may be NULL, call->name then says which one is meant. */
int keeper_explain(struct keeper *keeper, struct call *call, policy_step_fn step, void *arg,
                   struct err *err);
/* As policy_offered, by the settings that hold now. Free it. */
const struct tool **keeper_offered(struct keeper *keeper, const struct config *config,
                                   enum dialect_id dialect, const char *agent);
/* Forgets all that was counted, for the operator. */
int keeper_reset(struct keeper *keeper, struct err *err);
/* Whether any hooks are configured. */
bool keeper_has_hooks(const struct keeper *keeper);
/* A call has ended and is recorded: for hooks that want to know. */
void keeper_after(struct keeper *keeper, const struct call *call);

/* Someone in this process who hears of calls that wait. Told within a turn of the loop; may decide at once. */
struct keeper_listener {
    struct keeper_listener *next;
    bool decides; /* a person can answer through it */
    /* A call of this gate waits from now on. */
    void (*asked)(struct keeper_listener *self, const struct approval *approval);
    /* It waits no more; approval->state says why (decided here or elsewhere, timed out, cancelled). May be NULL. */
    void (*over)(struct keeper_listener *self, const struct approval *approval);
};
void keeper_listen(struct keeper *keeper, struct keeper_listener *listener);
/* Whether a person can answer through someone in this process. */
bool keeper_can_ask(const struct keeper *keeper);
void keeper_unlisten(struct keeper *keeper, struct keeper_listener *listener);

/* An approver's word about a call that waits in this gate or in another one of the same user. A yes for always writes
 * the proposed rule first and fails, without any effect, where that cannot be done. */
int keeper_decide(struct keeper *keeper, const char *id, const struct approval_decision *decision,
                  struct err *err);

#endif
