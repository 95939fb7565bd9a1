/* Inside of work_scan: brings the tree of a root up to date. */
#ifndef SANDGATE_WORK_GUARD_REFRESH_H
#define SANDGATE_WORK_GUARD_REFRESH_H

#include <pthread.h>

#include "work/guard_read.h"
#include "work/guard_trees.h"

struct scan {
    struct guard_trees *trees;
    struct guard_root *at;
    const struct beneath_root *root;
    struct reading reading;
    size_t number; /* of the root */
    int store;
    bool comparing;         /* with the baseline, not with the last scan */
    struct tree *baseline;  /* what is not in it is new; NULL: nothing can be told to be new */
    int64_t baseline_ns;    /* when it was the last one */
    bool baseline_is_alike; /* it was made with the same rules */
    int64_t ran_ns;         /* since when commands may have run; 0: none have */
    bool store_failed;      /* the error is of the store, not of the root */
    bool settled;           /* no folder was moved while it was looked for */
    bool others;            /* commands run that could move one */
    bool thorough;          /* a command has ended */
    bool unsure;            /* they did, so that something may not have been found */
};

/* With what other gates know. -errno. */
int refresh(struct scan *s);
/* The same, until every folder is watched: the lock is released in between. */
int refresh_and_watch(struct scan *s, pthread_mutex_t *lock);

#endif
