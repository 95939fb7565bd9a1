/* The working directory of a command. */
#ifndef SANDGATE_CELL_FOLDER_H
#define SANDGATE_CELL_FOLDER_H

#include <stdbool.h>

#include "base/attr.h"

/* Goes there. `beneath` is a folder that it has to lie in once all links are followed. 0 or -errno; -EXDEV where a
 * link leads out, also to what does not exist in here; -EMLINK where it is not the folder that was named, if it has to
 * be. */
int folder_enter(struct str cwd, struct str beneath, bool as_named);

#endif
