/* Whether a folder can appear in a cell at the path that it has on the host. */
#ifndef SANDGATE_CELL_OWN_PATH_H
#define SANDGATE_CELL_OWN_PATH_H

#include "cell/spec.h"

/* Where a workspace appears that cannot; the others have it as a second name. */
#define OWN_PATH_WORKSPACE "/workspace"
/* Behind it there is room for the paths of what is in the folder. */
#define OWN_PATH_MAX 2048

/* Nothing that the cell or the programs in it need is at `path`, in it, or around it in a way that matters. */
bool own_path_is_free(const char *path);

/* Whether commands have a link at `name`, which is another name of one of the roots. */
bool own_path_is_linked(const struct cell_spec *spec, const char *name);

#endif
