/* Where a path that leads out of a folder comes back into one: `../../project/x`, a link in the user's home, another name of
 * the folder. The cell cannot know: it sees nothing else of the machine. */
#ifndef SANDGATE_SESSION_WAY_BACK_H
#define SANDGATE_SESSION_WAY_BACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/path.h"

struct cell_root;

/* `path` is absolute or begins at roots[from]; links on it are followed. True: it has left that folder and comes to the
 * folder of roots[*ret_root]; `rest` is what is left of it then, "." where nothing is. `names` is how many more names may be
 * looked up, and is counted down: with 0 the answer means nothing. */
bool way_back(const struct cell_root *roots, size_t count, size_t from, const char *path,
              unsigned *names, size_t *ret_root, char rest[PATH_TEXT_MAX]);

#endif
