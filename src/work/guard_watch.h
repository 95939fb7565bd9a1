/* Hearing of changes to the folders of a tree (inotify), so that a scan while nothing has changed costs one system
 * call. Where that is not to be had, scans look at every folder's time. */
#ifndef SANDGATE_WORK_GUARD_WATCH_H
#define SANDGATE_WORK_GUARD_WATCH_H

#include "work/guard_tree.h"

struct guard_watch {
    int fd;            /* -1: none */
    bool complete;     /* every folder is watched, and was looked at since */
    bool failed;       /* there are too many folders, or it cannot be had */
    bool moved;        /* a folder was renamed: set with the events that were taken last */
    bool missed;       /* one could not be watched, because it was not there */
    bool stirred;      /* one of that happened since folders were last looked at by their times */
    uint32_t *folders; /* by the number of their watch */
    uint32_t room;
};

void guard_watch_init(struct guard_watch *watch);
void guard_watch_done(struct guard_watch *watch);

/* Begins to watch folders that are not watched yet, at most `max` of them, and puts them into `ret`, flagged with
 * TREE_READ (NULL: not that). False: there are more. */
bool guard_watch_add(struct guard_watch *watch, struct tree *tree, int root, uint32_t max,
                     struct buf *ret);
/* Flags the folders that have changed with TREE_READ and puts them into `ret` (packed uint32_t). False: events were
 * lost, and every folder is to be looked at. */
bool guard_watch_take(struct guard_watch *watch, struct tree *tree, struct buf *ret);

#endif
