/* What overlayfs keeps in the upper layer of a session, and one path as it is at one side. */
#ifndef SANDGATE_WORK_LAYER_NODE_H
#define SANDGATE_WORK_LAYER_NODE_H

#include "core/op_change.h"
#include "work/work.h"

#define LAYER_UPPER "upper"

/* It stands for what was removed. */
bool layer_is_whiteout(const struct stat *st);
/* The open folder hides the one beneath it. */
bool layer_is_opaque(int folder);
/* It was copied up: the project had it. Of a link, which has no such mark, and of a whiteout this is not known. */
bool layer_is_copy(int dir, const char *name);

/* `st` NULL: nothing is there. `path` is for errors, `target` has PATH_TEXT_MAX bytes. False: it is there and cannot be
 * read. A layer that is in use changes meanwhile. */
bool layer_node_look(struct work *w, int dir, const char *name, const struct stat *st,
                     const char *path, char *target, struct op_node *ret);
bool layer_node_is_same(const struct op_node *a, const struct op_node *b);
/* The same content; whether modes differ does not matter. */
bool layer_node_holds_same(const struct op_node *a, const struct op_node *b);

#endif
