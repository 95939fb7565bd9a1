/* What a worker keeps of its roots between scans (OP_SCAN). */
#ifndef SANDGATE_WORK_GUARD_TREES_H
#define SANDGATE_WORK_GUARD_TREES_H

#include <pthread.h>

#include "base/hash.h"
#include "work/guarded.h"
#include "work/guard_outward.h"
#include "work/guard_read.h"
#include "work/guard_watch.h"

/* Their paths take less than a guarded_list has room for. With so many, any folder may be one. */
#define PINS_MAX 15000u

/* Which file an index is. */
struct saved_id {
    struct tree_id file;
    struct tree_time written;
};

struct guard_root {
    struct tree tree;
    struct guarded_list found;
    struct guarded_list pins; /* folders that were covered for what leads to them, or is in them */
    char rules[HASH_HEX + 1]; /* that it was made for; "": there is none yet */
    bool compared;            /* there was a tree before, in this worker or in the store */
    uint64_t generation;      /* of the list */
    uint64_t reread;          /* folders since it was last saved */
    bool unsaved;
    bool
        look_again; /* another gate knows of files that may lie in folders which were read before */
    struct saved_id saved;  /* the index in the store that is known here */
    bool stale;             /* the list is older than the tree */
    struct tree_time clock; /* at the last scan */
    struct guard_watch watch;
    struct guard_outward outward;
    int folder;  /* the root, open for reading; -1: not yet */
    bool opened; /* a command had closed it (guard_reopen.h), and the gate does not know yet */
    struct guarded_list reopened; /* the same of folders in it */
};

/* Which files git directories and what they lead to are, whatever their paths are by now. Sorted. */
struct lead_ids {
    struct tree_id *list;
    size_t count;
};

struct guard_trees {
    pthread_mutex_t lock; /* over all of it but `leads` and `lead_ids` */
    pthread_mutex_t leads_lock;
    struct guarded_list
        leads[ROOTS_MAX]; /* what git directories lead to, as the last scan found it */
    struct lead_ids lead_ids[ROOTS_MAX];
    int store; /* an open folder; -1: none */
    struct guard_root roots[ROOTS_MAX];
};

/* `store` stays the caller's. */
void guard_trees_init(struct guard_trees *trees, int store);
void guard_trees_done(struct guard_trees *trees);
/* The same where no other thread can be using them; with several the process ends anyway. */
void guard_trees_leave(struct guard_trees *trees, unsigned threads);

/* The lock is held. Begins with what an earlier worker saved, or with nothing. -errno; -EBADMSG: what was saved is
 * damaged. */
int guard_trees_prepare(struct guard_trees *trees, size_t number, const struct guard *guard);

/* A folder is about to be renamed. While a scan looks through the root it would miss one that goes from where it has not
 * looked to where it has, so this waits for scans, and scans for the rename. -1: the call was cancelled meanwhile. */
int guard_trees_hold(struct work *w, struct guard_trees **ret_held, struct err *err);
void guard_trees_release(struct guard_trees **held);

/* Whether a path (relative to the root, without links) is or lies in something that a scan found to be guarded, wherever
 * that was then. True also where that cannot be known: the call is cancelled while it waits (work.gave_up), or what
 * was saved is damaged. `dir` is as for beneath_verdict. */
bool guard_trees_know(const struct beneath_root *root, struct str path, int dir);
/* For guard_trees_knows_entry. False: the call is cancelled. */
bool guard_trees_lock(const struct beneath_root *root);
void guard_trees_unlock(const struct beneath_root *root);
/* The same of an entry by itself, in a folder with the inode `around`. The lock is held. */
bool guard_trees_knows_entry(const struct beneath_root *root, struct str path, struct str name,
                             const struct statx *st, uint64_t around);
/* Whether this file is one that scans found to be a git directory or what one leads to. Waits for no scan. */
bool guard_trees_is_lead(const struct beneath_root *root, const struct tree_id *id);
bool guard_trees_has_leads(const struct beneath_root *root);
/* Whether a path is, or lies in, what a git directory leads to, as the last scan found it; `carries`: or holds some of that.
 * Waits for no scan. */
bool guard_trees_lead(const struct beneath_root *root, struct str path, bool carries);
/* To be called with what a scan has found. */
void guard_trees_note_leads(struct guard_trees *trees, size_t number,
                            const struct guarded_list *found, const struct guarded_list *missing);
/* Whether a folder on the way to this path was covered by what a scan found, though no rule names it. The cover stays
 * until the cell ends. */
bool guard_trees_pin(const struct beneath_root *root, struct str path);

#endif
