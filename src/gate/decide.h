/* An approver's word about a call that waits, for every place where one can be given. */
#ifndef SANDGATE_GATE_DECIDE_H
#define SANDGATE_GATE_DECIDE_H

#include "gate/remember.h"
#include "store/approvals.h"

/* Writes the decision down. A yes for always writes the proposed rule with it, when no other word can come between, and
 * fails, without any effect, where that cannot be done; so does a yes that reaches further than the call where no rule can be made of it, or for a session that
 * ends with the call. */
int decide_approval(struct db *db, const char *id, const struct approval_decision *decision,
                    enum remember_wait wait, struct err *err);
/* Whether a yes for this scope can be given. */
bool decide_offers(const struct approval *approval, enum approval_scope scope);

#endif
