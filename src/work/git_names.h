/* Which file of a git directory a path is, and whether it may be taken over from a command's layer. Everything that is
 * not on the list stays out: configuration, hooks, and whatever later versions of git may come to read. */
#ifndef SANDGATE_WORK_GIT_NAMES_H
#define SANDGATE_WORK_GIT_NAMES_H

#include "work/git_text.h"

enum git_kind {
    GIT_UNKNOWN, /* never taken over */
    GIT_OBJECT,
    GIT_PACK, /* and what belongs to one */
    GIT_HEAD,
    GIT_INDEX,
    GIT_PACKED_REFS,
    GIT_REF,
    GIT_LOG,
    GIT_STATE, /* `check` says what it may hold */
};

struct git_name {
    enum git_kind kind;
    struct str inner; /* the path in its repository, which may be a submodule's */
    git_check check;  /* of HEAD, a ref, a log or a state; NULL for the others */
    /* How much of the whole path names a folder that is taken over as a whole or not at all; 0: it lies in none. */
    size_t group;
};

/* Whether there was a repository at this path of the git directory before (`modules/lib`). */
typedef bool (*git_is_repository)(void *arg, struct str path);

struct git_name git_name_of(struct str path, unsigned hex, git_is_repository is, void *arg);
/* A ref, the log of one, or a folder that they lie in. */
bool git_is_among_refs(struct str path);
/* The same of objects. */
bool git_is_among_objects(struct str path);
/* What a git that was killed leaves behind. */
bool git_is_lock(struct str path);
/* Whether its deletion may be taken over. */
bool git_may_remove(const struct git_name *name);

#endif
