/* Inside of guarded_follow: what names that stand for something elsewhere lead to. */
#ifndef SANDGATE_WORK_GUARD_FOLLOW_H
#define SANDGATE_WORK_GUARD_FOLLOW_H

#include <linux/stat.h>

#include "work/guard_outward.h"
#include "work/guarded.h"

/* How many folders may lie in each other, or be led to by links in each other, below one that is guarded as a whole. With
 * more no command starts. Each takes about 17 KB of a thread's stack (STACK_BYTES, worker.c). */
#define FOLLOW_DEPTH_MAX 32

struct following {
    struct beneath_root root;
    const struct guard *guard;
    struct guarded_list *list;
    struct guarded_list more;
    struct guarded_list *missing;
    struct guard_outward *outward;
    uint32_t inside; /* entries of folders that are guarded as a whole */
    int depth;       /* of such folders that lead to each other */
    int error;
    struct beneath_real real;
    const struct tree *tree;
    int64_t ran_ns; /* since when commands run; 0: none do */
    bool made;      /* what is followed at the moment was made by a command */
};

/* Adds an entry to what is guarded. */
void follow_add(struct following *f, struct str path, uint8_t kind, const struct statx *st);
/* Opens what a path leads to in the end, and where that is: *ret_n is 0 for the root. -1 where it cannot be said. */
int follow_open(struct following *f, const char *path, char plain[PATH_TEXT_MAX], size_t *ret_n,
                struct statx *ret_st);
/* Notes where a path would lead that is not there: tools do not make what git reads. Where it leads out of the root, the
 * gate is to say whether it comes back. */
void follow_missing(struct following *f, const char *path, uint8_t kind);
/* Tools do not replace the links on the way to what a git directory leads to. */
void follow_links_on_way(struct following *f, const char *path);
/* Adds the link by which a path leads out of the root: somebody put it there while commands ran. */
void follow_way_out(struct following *f, const char *path, uint8_t kind);
/* Links in a folder that is guarded as a whole. */
void follow_inside(struct following *f, struct str folder, uint8_t kind);
/* What comes back into the root from outside. */
void follow_back(struct following *f);
/* The first line of a small file; false where there is none. */
bool follow_read_line(int dir, const char *name, char text[PATH_TEXT_MAX]);
/* A path as it stands in a file of `folder`. False: it leads out of the root. */
bool follow_locate(const struct following *f, struct str folder, const char *text,
                   char path[PATH_TEXT_MAX]);
/* The git directory that a text in a file of `folder` names; `common`: and the one that its `commondir` names. */
void follow_git_directory(struct following *f, struct str folder, const char *text, bool common);
/* What an entry with this path and kind leads to, where it is a link. */
void follow_link(struct following *f, struct str link, uint8_t kind);
/* The same for a link that stands for a folder on the way to what the rules name. */
void follow_way(struct following *f, struct str link);

#endif
