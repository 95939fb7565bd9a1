/* The working directory of a command. */
#ifndef SANDGATE_CELL_FOLDER_H
#define SANDGATE_CELL_FOLDER_H

#include "cell/order.h"

/* Goes to the order's `cwd`; `where` gets its path without links. 0; FOLDER_ELSEWHERE: that is not what `cwd` says; or
 * -errno: -EXDEV where a link leads out of `beneath`, also to what does not exist in here; -EMLINK where it is not the folder
 * that was named, if it has to be; -EREMCHG where it is not the one that it is pinned to. */
#define FOLDER_ELSEWHERE 1
int folder_enter(const struct order *order, char where[PATH_TEXT_MAX]);

#endif
