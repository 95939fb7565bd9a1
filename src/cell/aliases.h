/* A folder of the cell has one name for commands. Places of the machine and folders of commands.show may contain it, lie
 * in it, or be bound to it: what is covered in the folder would be open under that other name. */
#ifndef SANDGATE_CELL_ALIASES_H
#define SANDGATE_CELL_ALIASES_H

#include "cell/mounts.h"

/* Covers every other way to a folder that commands have, and to the folder beneath an overlay, and what the spec hides
 * from them. In the mount namespace that
 * all commands begin with, once everything is attached there. */
int aliases_cover(const struct mounting *mounting, struct err *err);

#endif
