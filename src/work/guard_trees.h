/* What a worker keeps of its roots between scans (OP_SCAN). */
#ifndef SANDGATE_WORK_GUARD_TREES_H
#define SANDGATE_WORK_GUARD_TREES_H

#include <pthread.h>

#include "base/hash.h"
#include "work/guarded.h"
#include "work/guard_watch.h"

/* Their paths take less than a guarded_list has room for. With so many, any folder may be one. */
#define PINS_MAX 15000u

struct guard_root {
    struct tree tree;
    struct guarded_list found;
    struct guarded_list pins; /* folders that were covered for what leads to them, or is in them */
    char rules[HASH_HEX + 1]; /* that it was made for; "": there is none yet */
    bool compared;            /* there was a tree before, in this worker or in the store */
    uint64_t generation;      /* of the list */
    uint64_t reread;          /* folders since it was last saved */
    bool unsaved;
    bool stale;             /* the list is older than the tree */
    struct tree_time clock; /* at the last scan */
    struct guard_watch watch;
};

struct guard_trees {
    pthread_mutex_t lock; /* over all of it */
    int store;            /* an open folder; -1: none */
    struct guard_root roots[ROOTS_MAX];
};

/* `store` stays the caller's. */
void guard_trees_init(struct guard_trees *trees, int store);
void guard_trees_done(struct guard_trees *trees);

/* The lock is held. Begins with what an earlier worker saved, or with nothing. -errno; -EBADMSG: what was saved is
 * damaged. */
int guard_trees_prepare(struct guard_trees *trees, size_t number, const struct guard *guard);
/* Whoever reads it meanwhile finds the old one or the new one. -errno. */
int guard_trees_save(struct guard_root *root, int store, size_t number);

/* A folder is about to be renamed. While a scan looks through the root it would miss one that goes from where it has not
 * looked to where it has, so this waits for scans, and scans for the rename. -1: the call was cancelled meanwhile. */
int guard_trees_hold(struct work *w, struct guard_trees **ret_held, struct err *err);
void guard_trees_release(struct guard_trees **held);

/* Whether a path (relative to the root, without links) is or lies in something that a scan found to be guarded, wherever
 * that was then. True also where that cannot be known: the call is cancelled while it waits (work.gave_up), or what
 * was saved is damaged. */
bool guard_trees_know(const struct beneath_root *root, struct str path);
/* Whether a folder on the way to this path was covered by what a scan found, though no rule names it. The cover stays
 * until the cell ends. */
bool guard_trees_pin(const struct beneath_root *root, struct str path);

#endif
