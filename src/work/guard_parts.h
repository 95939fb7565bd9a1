/* What git directories lead to: links in them, `commondir` and `objects/info/alternates`. A file in the workspace that
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

#endif
