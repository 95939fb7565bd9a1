/* A command's first process: pid 1 of a pid namespace of its own. It is made and locked ahead of time and
 * waits for its order; then it starts the program, and stays to hear of everything that ends. When the program
 * has ended, nothing that it started lives on. */
#ifndef SANDGATE_CELL_COMMAND_H
#define SANDGATE_CELL_COMMAND_H

#include <sys/types.h>

#include "cell/denied.h"
#include "cell/frame.h"
#include "cell/guards.h"
#include "cell/layers.h"

/* Makes one, in these control groups. If `covered`, all guards are mounted in this process's own namespace, which it
 * begins with, and it locks itself at once. If not, FRAME_GUARDS for the roots that are left have to follow on
 * *ret_socket first. `rested`: a mount namespace to be used instead of a new one, -1 for none; all guards are mounted in
 * it. `points`: its set of mount points. With layers all guards have to be known. It sends a FRAME_READY with its mount namespace, takes a
 * FRAME_RUN, and after that FRAME_STOPs. Its pid, or -errno. It ends with status 0 when it has sent its own account. */
#define COMMAND_NOT_BEGUN 75 /* its status where it has not obeyed an order: it had no room for descriptors */
pid_t command_make(const struct cell_spec *spec, struct guards *guards, const struct denied *denied,
                   bool covered, int rested, int64_t points, const struct frame_fds *groups,
                   const struct layers *layers, int *ret_socket);

#endif
