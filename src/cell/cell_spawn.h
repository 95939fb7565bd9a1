/* Starting the process that becomes a cell. */
#ifndef SANDGATE_CELL_CELL_SPAWN_H
#define SANDGATE_CELL_CELL_SPAWN_H

#include <sys/types.h>

/* A pair of sockets with numbers above those they are moved to in the child, so that no move closes another's
 * source. 0 or -errno. */
int cell_pair(int type, int fds[2]);
/* This program again, as CELL_ARGV0, with these descriptors and no environment. 0 or an errno. */
int cell_spawn(int control, int work, const int help[2], pid_t *ret_pid);

#endif
