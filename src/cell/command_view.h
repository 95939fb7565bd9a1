/* What a command sees and may do: its own mounts, and the lock around them. */
#ifndef SANDGATE_CELL_COMMAND_VIEW_H
#define SANDGATE_CELL_COMMAND_VIEW_H

#include "cell/spec.h"

/* In a mount namespace of its own: /proc, /tmp and terminals that no other command has; its folders are mounted at
 * the set of points with that number (cell/points.h). */
int command_mount(const struct cell_spec *spec, int64_t points, struct err *err);
/* The same in one that command_unmount was called in, after its command had ended. */
int command_mount_again(struct err *err);
int command_unmount(const struct cell_spec *spec, int64_t points, struct err *err);
/* Nobody whom it starts sees the store. */
int command_leave_store(const struct cell_spec *spec, struct err *err);
/* For good. *ret_listener tells of calls that the filter refuses. */
int command_lock(const struct cell_spec *spec, int *ret_listener, struct err *err);

#endif
