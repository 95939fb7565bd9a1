/* A tree as bytes, to be kept in a file between gates. Whatever the bytes are, reading them gives a tree that is whole,
 * or none. */
#ifndef SANDGATE_WORK_GUARD_INDEX_H
#define SANDGATE_WORK_GUARD_INDEX_H

#include "work/guard_tree.h"

#define INDEX_BYTES_MAX ((size_t)1 << 30)

/* `rules` is what guard_id says; `now` the time. `out` is empty. */
int index_write(const struct tree *tree, const char *rules, const struct tree_time *now,
                struct buf *out);
/* Puts the checksum right. */
void index_seal(struct buf *index);
/* False: they are damaged, were written for other rules or by another version, or the clock was set back since. Then
 * `ret` is as it was. `rules` NULL: any; `now` NULL: at any time. */
bool index_read(struct str bytes, const char *rules, const struct tree_time *now, struct tree *ret);
/* Whether they are as they were written, for whatever rules and by whatever version. */
bool index_is_whole(struct str bytes);

#endif
