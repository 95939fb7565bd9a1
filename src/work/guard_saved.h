/* The index of a root in the workspace's store (`guards-N`). All gates on the workspace share it: each adds what it knows,
 * and none drops what another one knows. There is no lock, since a gate could keep it: whoever replaces an index looks at
 * the one that it replaced. */
#ifndef SANDGATE_WORK_GUARD_SAVED_H
#define SANDGATE_WORK_GUARD_SAVED_H

#include "work/guard_trees.h"

/* 1: there is one that can be used, 0: there is none, one by another version, or one for other rules or from a time that is
 * yet to come (*ret_other); -errno. One that is damaged (-EBADMSG) is not taken for none: it may know of secrets that no rule
 * names where they are now. */
int guard_saved_load(struct guard_root *at, int store, size_t number, struct tree *ret_other);
/* Takes over what another gate has added since the root was last loaded or saved. What was not known so far is looked for
 * by the next scan in all folders (`look_again`). 0 or -errno. */
int guard_saved_take(struct guard_root *at, int store, size_t number);
/* Whoever reads it meanwhile finds the old one or the new one. -errno. */
int guard_saved_write(struct guard_root *at, int store, size_t number);
/* Of the hashes in a new index. Gates that begin at the same time choose the same, or their lists could not be compared. */
uint64_t guard_saved_seed(int store);

#endif
