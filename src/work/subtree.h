/* What the rules say about the entries of a folder that is removed or moved as a whole. A rule about a name in it holds
 * for the whole operation: removed, the file could be made again with other content; moved, it could end up where no
 * rule names it. */
#ifndef SANDGATE_WORK_SUBTREE_H
#define SANDGATE_WORK_SUBTREE_H

#include "work/git_leads.h"

struct subtree {
    struct beneath_root root; /* without a guard nothing is refused */
    struct buf path;          /* of the folder at hand, without links; once refused, of the entry */
    bool moves;
    bool leads; /* something is a lead by what it is (guard_trees_is_lead) */
    bool
        crosses; /* it is moved into or out of a folder that commands see through a mount of its own */
    struct buf moved; /* where that folder is going to be */
    const struct git_move *move;
    char lead[PATH_TEXT_MAX]; /* of the git directory at `path`, which would lead elsewhere then */
    bool led;                 /* that was the reason */
    int error;                /* errno: it could not be looked at */
    enum guard_verdict verdict;
    const char *rule;
};

/* `path` is relative to the root and without links; `move` is NULL where the folder is removed, and stays the caller's. */
void subtree_init(struct subtree *s, const struct beneath_root *root, const char *path,
                  const struct git_move *move);
void subtree_done(struct subtree *s);
void subtree_enter(struct subtree *s, const char *name);
void subtree_leave(struct subtree *s);

/* Whether an entry of the folder at hand, open as `dir`, must stay: when removing, any that is guarded; when moving, one about which
 * the rules say something else at its new place. *ret_same: that holds for all that is in it, there is no need to look. */
bool subtree_keeps(struct subtree *s, int dir, const char *name, bool is_folder, bool *ret_same);
/* Whether the folder at hand, open as `fd`, is a git directory that is to be removed, or that would lead elsewhere. */
bool subtree_keeps_git(struct subtree *s, int fd);
/* The error for what was kept, said about the path as it was given. */
int subtree_refuse(const struct subtree *s, const char *path, struct err *err);

#endif
