#include "gate/decide.h"

#include <string.h>

bool decide_offers(const struct approval *approval, enum approval_scope scope)
{
    if (scope == APPROVE_ONCE)
        return true;
    return approval->proposal && (scope != APPROVE_SESSION || approval->session);
}

/* For a yes that reaches further than one call there has to be a rule that says how far. */
static int check_scope(const struct approval *it, enum approval_scope scope, struct err *err)
{
    if (!it->proposal)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "no rule could be made of this call: approve it once");
    if (!decide_offers(it, scope))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "the session of this call ends with it: approve it once or for always");
    return 0;
}

struct rule_to_keep {
    const char *text;
    const char *by;
    enum remember_wait wait;
};

static int keep_rule(void *arg, struct err *err)
{
    const struct rule_to_keep *rule = arg;
    return remember_add((struct str){rule->text, strlen(rule->text)}, rule->by, rule->wait, err);
}

int decide_approval(struct db *db, const char *id, const struct approval_decision *decision,
                    enum remember_wait wait, struct err *err)
{
    CLEANUP(approval_done) struct approval it = {0};
    struct approval_decision d = *decision;
    bool further = d.yes && d.scope != APPROVE_ONCE;
    if (further && approvals_look(db, id, &it, err) < 0)
        return -1;
    /* Of one that waits no more approvals_decide says what became of it. */
    if (further && it.state == APPROVAL_WAITING && check_scope(&it, d.scope, err) < 0)
        return -1;
    struct rule_to_keep rule = {it.proposal, d.by, wait};
    if (further && d.scope == APPROVE_ALWAYS && it.proposal) {
        d.with = keep_rule;
        d.with_arg = &rule;
    }
    return approvals_decide(db, id, &d, err);
}
