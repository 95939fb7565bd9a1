/* A command can take its user's rights to a folder away (`chmod 000 .`). Then nothing that it made there could be found,
 * nor what its user makes there while the command still works in it: a cover over the folder does not hide that from
 * whoever is in it already. So the worker gives the rights back before it looks. */
#ifndef SANDGATE_WORK_GUARD_REOPEN_H
#define SANDGATE_WORK_GUARD_REOPEN_H

#include "work/guard_trees.h"

/* The lock is held. To be called while the root can be read: by its name it cannot be opened later. */
void guard_reopen_prepare(struct guard_root *at, int root);
/* The lock is held. True: the root was closed to its owner and is open now; noted in `at->opened`. */
bool guard_reopen(struct guard_root *at);
/* The same for all roots, without the lock; NULL: there are none. */
void guard_reopen_all(struct guard_trees *trees);

/* Opens a folder of the tree that cannot be looked into, r->path, for reading, and notes it in `reopened`. -1: it stays
 * closed: nothing runs, or it was closed before, or somebody closes it again and again. */
int guard_reopen_folder(struct reading *r, uint32_t folder);

#endif
