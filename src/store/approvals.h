/* Calls that wait for a person's yes. Every process of the user sees them; the gate whose call it is waits for the
 * answer, any approver gives it. A yes is good for one call, with the digest it was given for, once. */
#ifndef SANDGATE_STORE_APPROVALS_H
#define SANDGATE_STORE_APPROVALS_H

#include "store/db.h"

enum approval_state {
    APPROVAL_WAITING,
    APPROVAL_APPROVED, /* not used yet */
    APPROVAL_USED,     /* its call was let through */
    APPROVAL_DENIED,
    APPROVAL_TIMED_OUT,
    APPROVAL_CANCELLED, /* by the caller, or the gate ended */
    APPROVAL_GONE,      /* the gate died */
};
extern const char *const approval_state_names[]; /* `waiting` …; NULL-ended */

/* How far a yes reaches. */
enum approval_scope { APPROVE_ONCE, APPROVE_SESSION, APPROVE_ALWAYS };
extern const char *const approval_scope_names[];

#define APPROVAL_ID_MAX 16 /* short, in letters and digits that are told apart easily */

/* Text may be NULL where the comment says so. */
struct approval {
    char id[APPROVAL_ID_MAX];
    const char *gate;      /* the audit log's name of the gate */
    const char *call;      /* the audit log's name of the call */
    const char *caller_id; /* the caller's own; may be NULL */
    const char *tool;
    const char *dialect;
    const char *agent;     /* may be NULL */
    const char *session;   /* may be NULL: it ends with the call */
    const char *workspace; /* the host's path; may be NULL */
    const char *digest;    /* of tool, arguments, session and agent */
    const char *rule;      /* why it is asked */
    const char *summary;   /* one line, fit for a terminal */
    const char
        *detail; /* all the rest of it, a diff for example; lines fit for a terminal; "": none, or
                            * it waits no more: then it is removed */
    const char
        *proposal; /* the rule that `always` would write, as JSON; may be NULL: there is none */
    int64_t asked_ms;
    int64_t expires_ms;
    enum approval_state state;
    enum approval_scope scope; /* of a yes */
    int64_t decided_ms;
    const char *decided_by; /* may be NULL */
};

/* Writes it down as waiting and gives it its id. A transaction of its own, as the next two. -1 with err; where the
 * database is locked by another process, with the reason `state_locked`. */
int approvals_ask(struct db *db, struct approval *approval, struct err *err);

struct approval_decision {
    bool yes;
    enum approval_scope scope;
    const char *by; /* who and where: `alice on /dev/pts/3`, `alice by sandgate approve` */
    /* NULL, or what has to be done with it. It is called when nobody else can decide any more; -1: nothing is decided. */
    int (*with)(void *arg, struct err *err);
    void *with_arg;
};
/* From any process. One that is not waiting any more, is too old, or whose gate is dead is not changed: -1, with
 * ERR_NOT_FOUND or ERR_CONFLICT and what became of it. */
int approvals_decide(struct db *db, const char *id, const struct approval_decision *decision,
                     struct err *err);
/* The gate's own word: it timed out or was cancelled. 1: it was still waiting; 0: it was decided before; -1. */
int approvals_end(struct db *db, const char *id, enum approval_state state, struct err *err);

/* Within a transaction: an approved one with this digest becomes used. -1 with ERR_APPROVAL_DENIED for anything
 * else. */
int approvals_use(struct db *db, const char *id, const char *digest, struct err *err);

/* Copies it, with what became of it: state, scope, decided_by. `*ret` is to be given to approval_done. approvals_look
 * leaves the detail out, which can be long. */
int approvals_look(struct db *db, const char *id, struct approval *ret, struct err *err);
int approvals_get(struct db *db, const char *id, struct approval *ret, struct err *err);
void approval_done(struct approval *approval);
/* All that wait, or all that are known, oldest first. Those whose gate is dead are marked as gone before. The visitor's
 * approval is borrowed and without its detail, and the visitor may use the database; -1 from it ends the walk, which is no failure. */
int approvals_each(struct db *db, bool waiting,
                   int (*visit)(void *arg, const struct approval *approval), void *arg,
                   struct err *err);

/* What was allowed for the rest of a session, as rules in JSON; within a transaction or without one. Visiting is as
 * above. A session without a name is `gate:` and the gate's. */
int allowances_add(struct db *db, const char *session, const char *agent, const char *dialect,
                   const char *rule, const char *by, struct err *err);
int allowances_each(struct db *db, const char *session, const char *agent, const char *dialect,
                    int (*visit)(void *arg, const char *rule), void *arg, struct err *err);
/* The session is gone. */
int allowances_forget(struct db *db, const char *session, struct err *err);

#endif
