/* Inside of beneath.c: opening one name, and a walk by hand for what one openat2 cannot answer: links, of which
 * every name on the way is to be known, folders to be made, the place behind a dangling link. */
#ifndef SANDGATE_WORK_BENEATH_WALK_H
#define SANDGATE_WORK_BENEATH_WALK_H

#include "work/beneath.h"

#define BENEATH_LINKS_MAX 40  /* as the kernel's own limit */
#define BENEATH_DEPTH_MAX 256 /* folders open at once while walking */

/* openat2, never out of `dir`. -1 with errno. */
int beneath_open_at(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);
/* Whoever looks for guarded things at many places must not take one for absent that could not be opened or read for want of
 * descriptors or memory. beneath_open_at notes such errors, others are noted by hand; they are kept for each thread until
 * they are taken. 0: there was none. */
void beneath_note_lack(int error);
int beneath_take_lack(void);
bool beneath_lacks(void);

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
 * it is not to be used so. `dir` is as for beneath_look; real->moved: it is not the folder of this path any more. */
bool beneath_counts(enum guard_verdict verdict, unsigned flags);
bool beneath_is_refused(const struct beneath_root *root, struct beneath_real *real, int dir,
                        unsigned flags);
/* The error for that, said about the path as it was given. */
int beneath_refuse(const struct beneath_real *real, const char *path, struct err *err);
/* The error where a path has to be what it names and is not. */
int beneath_refuse_other(const struct beneath_root *root, const char *path, struct err *err);

/* Whether a folder is a git directory, or would be with `next` in it. */
bool beneath_is_git_directory(int dir, struct str next);

/* What is known of the folder in which something is to be done. Folders can be renamed at any time, so a path that is
 * looked up twice may lead to two places. Here each folder on the way is opened in the one before, and all that is asked
 * is asked of these open folders; the last one has to be `dir`. A command cannot take out what lies in something that
 * is guarded: whoever holds a folder of that finds it on the way, wherever the way leads. */
struct beneath_look {
    const struct beneath_root *root;
    const char *path; /* relative to the root, without links */
    int dir;          /* in which it is; -1: whatever is there now */
    int file;         /* what is there; -1: whatever is */
    bool git;         /* git directories count, and what they lead to */
    bool carries;     /* what is there must not be a git directory itself */
    bool known;       /* nor be known from a scan (guard_trees_know). The lock is held */
    bool was_known;   /* and it is */
    int error;        /* errno: it counts as guarded because it could not be looked at */
};
enum beneath_found {
    BENEATH_FREE,
    BENEATH_GUARDED, /* it is in a git directory or in what one leads to, or would make its folder a git directory */
    BENEATH_MOVED, /* another folder is there, or none */
};
enum beneath_found beneath_look(struct beneath_look *look);
/* Whether a file that was opened by this path may be used so, by what scans have found it to be. 0 or -1. */
int beneath_still_file(const struct beneath_root *root, const char *path, const char *real, int fd,
                       unsigned flags, struct err *err);

#endif
