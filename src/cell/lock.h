/* The last step before a process of the cell sees a byte of content: no capabilities, no way to gain
 * any, only the folders it was given, only the system calls it may make. There is no way back. */
#ifndef SANDGATE_CELL_LOCK_H
#define SANDGATE_CELL_LOCK_H

#include "cell/landlock.h"

/* No program that is started from here on has a capability. The others do this too; to have it done before they are
 * forked is quicker. */
int lock_bounds(struct err *err);

int lock_worker(const struct landlock_rule *rules, size_t count, struct err *err);

/* For a command's init and all it starts. What the filter refuses waits for an answer on the listener
 * (close-on-exec; see cell/violations.h): the process that answers must not make such a call itself,
 * nor wait for one that does. */
int lock_command(const struct landlock_rule *rules, size_t count, int *ret_listener,
                 struct err *err);

#endif
