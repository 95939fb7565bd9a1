/* The only way to a workspace's files. Every path is resolved from an open directory and cannot leave
 * it, whatever is renamed or linked meanwhile: the kernel refuses (openat2, RESOLVE_BENEATH), or each
 * component is opened by itself without following links. Nothing is checked first and opened later. */
#ifndef SANDGATE_WORK_BENEATH_H
#define SANDGATE_WORK_BENEATH_H

#include <sys/stat.h>

#include "base/err.h"
#include "core/guard.h"
#include "core/path.h"

struct guard_trees;
struct work;

/* An entry as if it had been moved already; `to` is in the root that a walk is in. */
struct beneath_moved {
    const char *from; /* in the same root; NULL: it comes from another one */
    const char *to;
    int dir; /* where it is still, and its name there */
    const char *name;
};

struct beneath_root {
    int fd;
    const char *inside; /* absolute links to these and `also` count as inside */
    const char *host;
    bool writable;
    bool layered;  /* an overlay, of a folder that changes beside it */
    bool no_links; /* no symbolic link is followed */
    bool as_named; /* nor here: a rule about paths decided, by the names as they are given */
    const struct guard *guard; /* what is protected and secret in it; NULL: nothing */
    const char
        *behind; /* a name in the folder that is opened: links on the way are judged with it */
    struct guard_trees *trees;         /* what was guarded where it was before; NULL: nothing */
    size_t number;                     /* of the root in there */
    struct work *work;                 /* of the call, which may be cancelled; NULL: it cannot be */
    const struct beneath_moved *moved; /* NULL: nothing is taken to have been moved */
    struct buf
        *passed; /* gets the paths of links on the way, each with a NUL; NULL: nothing does */
    const char *const *also; /* ROOT_ALSO more names of it; NULL: none */
    const char *kept; /* a folder in it that is only read, where no mount says so; NULL: none */
};

/* Where a path leads when the links on the way are followed, and what the rules say about it. */
#define BENEATH_REAL_MAX (2 * PATH_TEXT_MAX)
struct beneath_real {
    const char *text;                /* in `buffer`, or the path that was asked for */
    enum guard_verdict link_verdict; /* of the names of links on the way */
    const char *link_rule;
    enum guard_verdict verdict; /* of all together */
    const char *rule;
    bool holds; /* the rule is about something in the folder */
    int error;  /* errno: it is refused because what decides could not be looked at */
    bool moved; /* it is not refused, and not there any more */
    char buffer[BENEATH_REAL_MAX];
};

/* How a path is going to be used. */
enum beneath_flag {
    BENEATH_PARENTS = 1, /* missing folders on the way are made */
    BENEATH_FOLDER = 2,  /* it is a folder, or will be one */
    BENEATH_CARRIES = 4, /* with what is in it: the way to protected files must not go or come so */
    BENEATH_ONLY_READ = 8, /* what is protected may be used */
    BENEATH_LOOK =
        16, /* with PARENTS: no folder is made; the place is -1 where one would have to be */
};

/* Opens path (relative, "." for the root) following links that stay inside. Never blocks on a FIFO.
 * flags as for open(2), without O_CREAT. */
int beneath_open(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                 struct err *err);
int beneath_open_real(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                      struct beneath_real *ret_real, struct err *err);
/* The same, and what was opened is a regular file; *ret_stat is of the open file. Not one that is secret. */
int beneath_open_file(const struct beneath_root *root, const char *path, int *ret_fd,
                      struct stat *ret_stat, struct err *err);
/* Nor one that is protected. */
int beneath_open_to_change(const struct beneath_root *root, const char *path, int *ret_fd,
                           struct stat *ret_stat, struct err *err);

/* Where a file that is written at `path` has to be put: an open folder and a name in it that is not a
 * link. Links at the end are followed while they stay inside. What is protected or secret is no such place. */
struct beneath_place {
    int dir;
    char name[PATH_NAME_MAX + 1];
    /* Folders that were made on the way, as a path from an open folder; "": none. Only beneath_place sets them. */
    char made[PATH_TEXT_MAX];
    int made_in;
};
int beneath_place(const struct beneath_root *root, const char *path, unsigned flags,
                  struct beneath_place *ret, struct err *err);
/* The same, and where it is. */
int beneath_place_real(const struct beneath_root *root, const char *path, unsigned flags,
                       struct beneath_place *ret, struct beneath_real *ret_real, struct err *err);
/* To be asked again just before a change is made in `dir`, the folder of `real` (see beneath_real). 0; 1: that folder was
 * moved since; -1: it is refused now. The answer is about `dir` itself, wherever it is moved from here on. */
int beneath_still(const struct beneath_root *root, const char *path, const char *real, int dir,
                  unsigned flags, struct err *err);
/* To be called before beneath_still, in any case. A path that the rules guard in other folders is changed only while no scan runs: either
 * the scan after a command finds the change, or the change finds that the command has moved the folder. Ordinary paths do
 * not wait. `held` is for guard_trees_release. */
int beneath_hold(struct work *w, const struct beneath_root *root, const char *real,
                 struct guard_trees **held, struct err *err);
/* Ends with a place: closes it, and removes the folders that were made for it unless it was used. */
void beneath_place_done(struct beneath_place *place, bool used);
static inline void beneath_place_close(struct beneath_place *place)
{
    beneath_place_done(place, true);
}
#define BENEATH_PLACE_AT_END CLEANUP(beneath_place_close)
/* The same for what is to be moved, removed or looked at itself: a link at the end is not followed. The
 * root itself is no such place. Nothing is refused yet: beneath_judge does that, once it is known what it is. */
int beneath_entry(const struct beneath_root *root, const char *path, struct beneath_place *ret,
                  struct beneath_real *ret_real, struct err *err);
/* What the rules say of a path that is relative to the root and has no links: by its name, and by what earlier scans found
 * the file to be. Every operation asks here, whether it opens one path or walks through a folder. `dir` is the folder of the
 * entry where it is open, and what is around that was judged before; -1: all on the way is looked up. */
enum guard_verdict beneath_verdict(const struct beneath_root *root, struct str path, int dir,
                                   bool is_folder, const char **ret_rule);
/* Refuses by the rules of the root what is not to be used so. */
int beneath_judge(const struct beneath_root *root, const char *path, struct beneath_real *real,
                  unsigned flags, struct err *err);
/* The flags for something that is moved or removed. */
unsigned beneath_kind(mode_t mode);
/* A folder in an open folder, opened for reading; -1 with errno, ELOOP for a link. */
int beneath_open_child(int dir, const char *name);
/* The same, EXDEV for the root of a mount. */
int beneath_open_child_here(int dir, const char *name);
/* The same for a regular file. EINVAL for anything else. */
int beneath_open_child_file(int dir, const char *name);
/* The same for anything that can be opened for reading, without waiting; what it is has to be found out. */
int beneath_open_child_any(int dir, const char *name);
/* Makes a new file in an open folder; fails with EEXIST in errno where the name is taken. */
int beneath_create(int dir, const char *name, int *ret_fd);
/* A folder opened with O_PATH, opened for listing and fsync; -1 with errno. */
int beneath_reopen_dir(int dir);
/* Whether files can be made and removed in an open folder; -1 with errno. */
int beneath_may_fill(int dir);
/* Whether the last component of path itself is a symbolic link. */
int beneath_is_link(const struct beneath_root *root, const char *path, bool *ret, struct err *err);

/* The error for errno, said about a path. */
/* Whether it is gone, or something else by now: what is listed need not be there any more. */
bool beneath_is_gone(int error);
int beneath_errno(struct err *err, int error, const char *path);

/* HEAD and its like: names that together make a folder a git directory. */
bool beneath_is_git_part(const char *name);
/* To be asked when `name` was made in the folder that is open as `dir`: whether git takes that folder for a repository now.
 * Calls of other gates may have made the other parts since the path was judged. Whoever comes last sees them all, undoes
 * what it did and fails with beneath_refuse_git. */
bool beneath_made_git(const struct beneath_root *root, int dir, const char *name);
int beneath_refuse_git(const char *path, struct err *err);

#endif
