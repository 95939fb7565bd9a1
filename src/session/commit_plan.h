/* Which changes of a session are taken over, and what stands against it. Pure. */
#ifndef SANDGATE_SESSION_COMMIT_PLAN_H
#define SANDGATE_SESSION_COMMIT_PLAN_H

#include "base/err.h"
#include "session/changes.h"

/* What stands against a change. Of several the first in this order counts. */
enum commit_bar {
    COMMIT_FREE,
    COMMIT_SPECIAL, /* devices, what cannot be looked into, files of other owners: never taken over */
    COMMIT_SECRET,   /* nor are these */
    COMMIT_GIT,      /* in a git directory */
    COMMIT_CONFLICT, /* the project's was changed as well */
    COMMIT_CODE,     /* programs on the host would run it, or obey it */
};
extern const char *const commit_bar_names[];

/* What is done with changes that would run code on the host later. */
enum commit_code { CODE_REFUSE, CODE_TAKE, CODE_LEAVE };

struct commit_choice {
    const struct str *paths; /* each a path and all in it, or a glob; none: everything */
    size_t n_paths;
    const struct str *ours; /* the same: of conflicts the session's is taken over */
    size_t n_ours;
    const struct str *theirs; /* or the project's stays, and the session's is given up */
    size_t n_theirs;
    enum commit_code code;
};

struct commit_item {
    const struct change *change;
    bool chosen;
    bool taken; /* chosen, and nothing stands against it */
    bool drop;  /* chosen, and the project's stays */
    enum commit_bar bar;
};

struct commit_plan {
    struct commit_item *items; /* as the changes, those that were renamed included */
    size_t n;
    /* Of the chosen: */
    size_t taken;
    size_t dropped;
    size_t conflicts; /* that nobody decided */
    size_t code;      /* that need a yes; CODE_TAKE: none */
    size_t left;      /* that stay in the session: special, secret, git, and code with CODE_LEAVE */
    struct buf body;  /* for review_commit */
};

/* `changes` has to outlive it. Fails for a glob that is none, and for a path or glob that no change has. */
int commit_plan_make(const struct change_list *changes, const struct commit_choice *choice,
                     struct commit_plan *ret, struct err *err);
/* Refuses one with conflicts (CONFLICT), or with code that nobody said yes to (APPROVAL_DENIED, reason runs_code). */
int commit_plan_check(const struct commit_plan *plan, struct err *err);
void commit_plan_done(struct commit_plan *plan);

/* Whether the host would run it, or obey it: files.protected names it, or it is a new executable outside of the folders that
 * builds fill. */
bool commit_runs_code(const struct change *change);

#endif
