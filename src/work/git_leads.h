/* What a git directory makes git read or run outside of itself: links in it, `commondir`, alternates, and what its
 * configuration names. Whoever can change that chooses what the user's next git command does. */
#ifndef SANDGATE_WORK_GIT_LEADS_H
#define SANDGATE_WORK_GIT_LEADS_H

#include "work/beneath.h"

/* What a path begins with. */
enum git_lead_from {
    GIT_LEAD_TOO_LONG,
    GIT_LEAD_FROM_FOLDER, /* the folder of the file that it stands in */
    GIT_LEAD_FROM_TOP,    /* the root, or where its text leads out, `/` */
    GIT_LEAD_FROM_HOST,   /* a folder around the root, which it comes back to by its name */
};

/* `path` is as git_leads_locate makes it; links on the way are not followed yet, and it need not exist. */
typedef void (*git_lead_fn)(void *arg, const char *path, enum git_lead_from from);

/* A path as it stands in a file of `folder`: relative to the root, or absolute where its text leads out. */
enum git_lead_from git_leads_locate(const struct beneath_root *root, struct str folder,
                                    const char *text, char path[PATH_TEXT_MAX]);
enum git_leads_found {
    GIT_LEADS_LATER = 1, /* a word is no file, and leads to one when that is made */
    GIT_LEADS_CUT = 2,   /* there is more than was read */
    GIT_LEADS_MANY = 4,  /* there is more than a pattern was compared with */
};

/* What the configuration in `git` names, and those that it includes. `tree` is the work tree. Returns git_leads_found.
 * *ret_unread becomes the number of a setting whose program cannot be told, if there is one; it may be NULL. */
unsigned git_leads_settings(const struct beneath_root *root, struct str git, struct str tree,
                            git_lead_fn fn, void *arg, int64_t *ret_unread);
/* All that leads out of the git directory `git`, without folders of objects and refs. Returns git_leads_found. */
unsigned git_leads_each(const struct beneath_root *root, struct str git, struct str tree,
                        git_lead_fn fn, void *arg);
enum git_lead_place { GIT_LEAD_UNKNOWN, GIT_LEAD_INSIDE, GIT_LEAD_OUTSIDE };
/* Where a path leads, or would lead if what it names were made; relative to the root, without links. */
enum git_lead_place git_leads_place(const struct beneath_root *root, const char *path,
                                    char ret[PATH_TEXT_MAX]);
/* The same, and the links on the way: who replaces one chooses where the path leads. */
#define GIT_LEAD_LINKS_MAX ((size_t)256 << 10)
enum git_lead_place git_leads_way(const struct beneath_root *root, const char *path,
                                  char ret[PATH_TEXT_MAX], struct buf *links);
/* The next of those, from `at` on (0 at first); NULL: there is no more. */
const char *git_leads_next_link(const struct buf *links, size_t *at);
/* False: that cannot be told, or it leads out. */
bool git_leads_where(const struct beneath_root *root, const char *path, char ret[PATH_TEXT_MAX]);

/* Whether what is done at `path` (relative to the root, without links) would be done to what a git directory around it leads
 * to. `carries`: or to something in it. Where that cannot be told for want of descriptors or memory the answer is true, and
 * *ret_error the errno. */
bool beneath_is_led_to(const struct beneath_root *root, const char *path, bool carries,
                       int *ret_error);

/* A folder that is going to be moved; the paths are relative to the roots and without links. */
struct git_move {
    const struct beneath_root *root;
    const char *from;
    const struct beneath_root *to_root;
    const char *to;
    int dir; /* where it is, and its name there */
    const char *name;
};
/* Whether git would read or run something else after the move: what the git directory of `folder`, which is moved, leads
 * to. That is its `.git`, or `bare`: itself. Descriptors or memory may lack (beneath_take_lack). */
bool beneath_leads_change(const struct git_move *move, struct str folder, bool bare,
                          char lead[PATH_TEXT_MAX]);

#endif
