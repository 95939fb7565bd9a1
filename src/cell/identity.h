/* Who a cell is: a user namespace of its own, in which the launcher may mount, and a uid on the
 * machine that is never root. */
#ifndef SANDGATE_CELL_IDENTITY_H
#define SANDGATE_CELL_IDENTITY_H

#include <sys/types.h>

#include "cell/mounts.h"

/* Root's last child: writes the maps of a process that is no longer root. Its pid is 0 where the gate
 * was not root. */
struct identity_mapper {
    pid_t pid;
    int go;
};

/* As the machine's root only: takes the trees of all folders, mapping an owner that is not the
 * cell's uid onto it, then becomes that uid for good. Otherwise sets all trees to -1. */
int identity_drop_root(const struct cell_spec *spec, struct trees *ret_trees,
                       struct identity_mapper *ret_mapper, struct err *err);

/* New user, mount, pid, network, ipc, uts and cgroup namespaces, with this uid and gid mapped to
 * themselves. The pid namespace begins with the next child. */
int identity_unshare(const struct cell_spec *spec, struct identity_mapper *mapper, struct err *err);

#endif
