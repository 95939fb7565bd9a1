/* Refs in a git directory whose names are those of secrets: a branch `id_rsa`, a tag `app.key`. Covered, they would break
 * git for who may read it. Secrets that lie elsewhere in a git directory stay covered. */
#ifndef SANDGATE_WORK_GUARD_REFS_H
#define SANDGATE_WORK_GUARD_REFS_H

#include "work/guard_read.h"

/* Whether an entry of a folder of the tree, which is open as `fd`, is a ref, the log of one, an object, or a folder of
 * refs. A file has to hold what git writes there. r->path is its path. */
bool guard_is_ref(const struct reading *r, uint32_t folder, int fd, const char *name,
                  bool is_folder);
/* To be called where a folder has become a git directory, or is none any more: what is in it means something else. */
void guard_refs_reread(struct reading *r, uint32_t folder);

#endif
