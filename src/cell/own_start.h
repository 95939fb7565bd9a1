/* A program with cells starts itself again, as a cell and to try what a cell needs. */
#ifndef SANDGATE_CELL_OWN_START_H
#define SANDGATE_CELL_OWN_START_H

#include <stdbool.h>

#include "cell/launcher.h"

/* For the beginning of every main function of such a program, since it is started by its own file. True: this process was such
 * a start, and is to end with *ret_status. */
bool own_start_done(int argc, char *const *argv, worker_fn worker, int *ret_status);

#endif
