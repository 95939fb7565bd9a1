/* A git index, read whole. What it lists is written to the disk by the user's own git, so that every path in it is held
 * to the rules that git has for new ones: git does not apply them to an index that it finds. Pure. */
#ifndef SANDGATE_WORK_GIT_INDEX_H
#define SANDGATE_WORK_GIT_INDEX_H

#include "base/buf.h"

/* Checks an index of version 2, 3 or 4 and writes to `out` the one that may be taken over: its entries as they are, and
 * none of the extensions, which repeat in other words what the entries say or make git read them elsewhere. One that git
 * cannot do without (a split index) is refused. Submodules are only taken where `old` has one at the same path. `hex` is as in git_text.h. NULL, or what is wrong. */
const char *git_index_take(struct str bytes, struct str old, unsigned hex, struct buf *out);

/* Checks an index that stays as it is, extensions included: only those that cannot make git read other entries may be there.
 * It may list any submodules. NULL, or what is wrong. */
const char *git_index_check(struct str bytes, unsigned hex);

/* Whether both list the same entries. */
bool git_index_is_same(struct str a, struct str b, unsigned hex);

/* For tests: a path that may stand in an index; `link` says that it is a symbolic link. */
bool git_index_path_ok(struct str path, bool link);

#endif
