/* A command's first process: pid 1 of a pid namespace of its own. It is made ahead of time and waits for its
 * order; then it locks itself, starts the program, and stays to hear of everything that ends. When the program
 * has ended, nothing that it started lives on. */
#ifndef SANDGATE_CELL_COMMAND_H
#define SANDGATE_CELL_COMMAND_H

#include <sys/types.h>

#include "cell/guards.h"

/* Makes one. *ret_socket takes a FRAME_RUN, and after that FRAME_STOPs. Its pid, or -errno. It ends with status 0
 * when it has sent its own account. */
pid_t command_make(const struct cell_spec *spec, const struct guards *guards, int *ret_socket);

#endif
