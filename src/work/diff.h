/* A unified diff, as `patch -p1` and `git apply` take it. */
#ifndef SANDGATE_WORK_DIFF_H
#define SANDGATE_WORK_DIFF_H

#include <stdbool.h>

#include "base/buf.h"

/* Adds the diff of two texts to `out`, with three lines of context; nothing when they are the same.
 * Bytes stay as they are. What does not fit below the ceiling of `out` is cut at a line, and a last
 * line says so; true then. */
bool diff_unified(struct str before, struct str after, const char *path, struct buf *out);

#endif
