/* What a git directory makes git read or run outside of itself: links in it, `commondir`, alternates, and what its
 * configuration names. Whoever can change that chooses what the user's next git command does. */
#ifndef SANDGATE_WORK_GIT_LEADS_H
#define SANDGATE_WORK_GIT_LEADS_H

#include "work/beneath.h"

/* `path` is as git_leads_locate makes it; links on the way are not followed yet, and it need not exist. */
typedef void (*git_lead_fn)(void *arg, const char *path);

/* A path as it stands in a file of `folder`: relative to the root, or absolute where its text leads out. False: it is too
 * long. */
bool git_leads_locate(const struct beneath_root *root, struct str folder, const char *text,
                      char path[PATH_TEXT_MAX]);
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
/* Where a path leads, or would lead if what it names were made; relative to the root, without links. False: that cannot be
 * told, or it leads out. */
bool git_leads_where(const struct beneath_root *root, const char *path, char ret[PATH_TEXT_MAX]);

/* Whether what is done at `path` (relative to the root, without links) would be done to what a git directory around it leads
 * to. `carries`: or to something in it. Where that cannot be told for want of descriptors or memory the answer is true, and
 * *ret_error the errno. */
bool beneath_is_led_to(const struct beneath_root *root, const char *path, bool carries,
                       int *ret_error);

#endif
