/* What git directories lead to: links in them, `commondir`, `objects/info/alternates`, and what their
 * configuration names. A file in the workspace that
 * `.git/config` is a link to is as dangerous as the configuration itself. */
#ifndef SANDGATE_WORK_GUARD_PARTS_H
#define SANDGATE_WORK_GUARD_PARTS_H

#include "work/guard_follow.h"
#include "work/guard_tree.h"

/* Whether an entry of a folder (`type` as in a dirent) would lead git elsewhere if the folder were, or lay in, a git
 * directory. That is not known while the folder is read: HEAD may come last. */
bool guard_is_lead(const struct tree *tree, uint32_t folder, struct str name, unsigned char type);
/* Adds what the git directory with this path leads to; `common`: its `commondir` counts. */
void follow_parts(struct following *f, struct str path, bool common);
/* One thing that the git directory `git` leads to. */
void follow_part(struct following *f, struct str git, const char *path);
/* The same of what its configuration names; `tree` is the work tree. */
void follow_settings(struct following *f, struct str git, struct str tree);

#endif
