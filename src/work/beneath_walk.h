/* Inside of beneath.c: opening one name, and a walk by hand for what one openat2 cannot answer: links, of which
 * every name on the way is to be known, folders to be made, the place behind a dangling link. */
#ifndef SANDGATE_WORK_BENEATH_WALK_H
#define SANDGATE_WORK_BENEATH_WALK_H

#include "work/beneath.h"

#define BENEATH_LINKS_MAX 40  /* as the kernel's own limit */
#define BENEATH_DEPTH_MAX 256 /* folders open at once while walking */

/* openat2, never out of `dir`. -1 with errno. */
int beneath_open_at(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);

struct beneath_walk {
    const struct beneath_root *root;
    unsigned flags; /* enum beneath_flag */
    int dirs[BENEATH_DEPTH_MAX];
    int depth;                    /* dirs[0] is the root's own descriptor */
    char rest[2 * PATH_TEXT_MAX]; /* still to be walked */
    char name[PATH_NAME_MAX + 1]; /* component at hand */
    int links;
    size_t link_left; /* length of `rest` behind what links put before it */
    bool refused;     /* by `real`: a folder that was to be made */
    struct beneath_real *real;
    size_t length; /* of the way to dirs[depth] in it */
    /* Folders that were made: dirs[made_from] and all behind it; 0: none. */
    int made_from;
    size_t made_at; /* length of the way to the folder in which the first was made */
};

/* Leaves the place in w, w->name in w->dirs[w->depth], and in *real where that is; the name is "." when the
 * path leads to a folder by `..` or the root. 0 or -errno; where it fails, the folders it made are removed again. To be
 * followed by beneath_walk_done. */
int beneath_walk_to(struct beneath_walk *w, const struct beneath_root *root, const char *path,
                    unsigned flags, struct beneath_real *real);
void beneath_walk_done(struct beneath_walk *w);
/* Whether the component at hand is one that a link named, not the path. */
bool beneath_walk_from_link(const struct beneath_walk *w);
/* Removes the folders that it made. One that is no longer empty is somebody else's by now. */
void beneath_walk_unmake(struct beneath_walk *w);

/* What the rules say about a path and the links on the way there, into real->verdict and real->rule. True when
 * it is not to be used so. */
bool beneath_is_refused(const struct beneath_root *root, struct beneath_real *real, unsigned flags);
/* The error for that, said about the path as it was given. */
int beneath_refuse(const struct beneath_real *real, const char *path, struct err *err);
/* The error where a path has to be what it names and is not. */
int beneath_refuse_other(const struct beneath_root *root, const char *path, struct err *err);

/* Whether what is done at `path` (relative to the root, without links) would be done in a git directory, or make its
 * folder one. `carries`: whether it is one itself, too. Where that cannot be told for want of descriptors or memory the
 * answer is true, and *ret_error the errno. */
bool beneath_is_in_git(const struct beneath_root *root, const char *path, bool carries,
                       int *ret_error);

#endif
