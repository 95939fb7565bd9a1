/* A program with cells is started again for their parts, and for trying what they need: each of these is a role. */
#ifndef SANDGATE_CELL_ROLE_H
#define SANDGATE_CELL_ROLE_H

#include <stdbool.h>

#include "cell/launcher.h"

/* For the beginning of every main function of such a program, since it is started by its own file. True: this process had a
 * role, and is to end with *ret_status. */
bool role_played(int argc, char *const *argv, worker_fn worker, int *ret_status);

#endif
