/* The descriptors of a command: its output, its account, its input. */
#ifndef SANDGATE_SESSION_COMMAND_PIPES_H
#define SANDGATE_SESSION_COMMAND_PIPES_H

#include "cell/frame.h"
#include "core/call.h"

#define COMMAND_PIPES 3

/* The ends that go to the command into `away`, in the order of enum order_fd, the others into `fds`, which are all -1
 * before. Both are the caller's to close, on failure too. SESSION_BUSY where the gate has no room for them: some
 * descriptors are always left for its other work, fewer where no other command runs (`alone`). */
int command_pipes(const struct call *call, bool alone, int fds[COMMAND_PIPES],
                  struct frame_fds *away, struct err *err);

#endif
