/* Whether a file is one that an earlier scan found guarded (tree_known), wherever it was then. */
#ifndef SANDGATE_WORK_GUARD_KNOWN_H
#define SANDGATE_WORK_GUARD_KNOWN_H

#include "core/guard.h"
#include "work/guard_tree.h"

/* A file as it is now. */
struct guard_known {
    struct str path; /* from the root, without links */
    uint64_t name;   /* hash of its own name */
    struct tree_id id;
    uint64_t around; /* the inode of its folder */
    bool is_folder;
};

/* enum guarded_kind, or TREE_PLAIN: it is none, or the rules that hold now name it nowhere. */
uint8_t guard_known_kind(const struct tree *tree, const struct guard *guard,
                         const struct guard_known *file);
/* Takes over what `from` knows, which was made for other rules. */
void guard_known_carry(struct tree *tree, struct tree *from);
/* Adds what `other` knows in the same workspace. `carried`: it was made for other rules. True: something was not known.
 * Whoever finds it says when it appeared, as if it had not been known: what a command has made is told by its own gate
 * also where another one has seen it first. */
bool guard_known_merge(struct tree *tree, const struct tree *other, bool carried);
/* Whether all that was added so is guarded in the tree where it is now. */
bool guard_known_all_guarded(const struct tree *tree);
/* Has the next scan read all folders, so that what was added is found wherever it is. */
void guard_known_seek(struct tree *tree);

#endif
