/* A command can take its user's rights to a root of the session away (`chmod 000 .`). Then nothing that it made there
 * could be found, so the worker gives them back before it looks. */
#ifndef SANDGATE_WORK_GUARD_REOPEN_H
#define SANDGATE_WORK_GUARD_REOPEN_H

#include "work/guard_trees.h"

/* The lock is held. To be called while the root can be read: by its name it cannot be opened later. */
void guard_reopen_prepare(struct guard_root *at, int root);
/* The lock is held. True: the root was closed to its owner and is open now; noted in `at->opened`. */
bool guard_reopen(struct guard_root *at);
/* The same for all roots, without the lock; NULL: there are none. */
void guard_reopen_all(struct guard_trees *trees);

#endif
