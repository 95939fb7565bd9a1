/* Who a cell is: a user namespace of its own, in which the launcher may mount, and a uid on the
 * machine that is never root. */
#ifndef SANDGATE_CELL_IDENTITY_H
#define SANDGATE_CELL_IDENTITY_H

#include <sys/types.h>

#include "cell/mounts.h"

/* As the machine's root only: takes the trees of all folders, mapping an owner that is not the cell's uid onto it.
 * Otherwise sets all trees to -1. */
int identity_take_trees(const struct cell_spec *spec, struct trees *ret, struct err *err);

/* A child, of this process's parent, that is the first process in new user, mount, pid, network, ipc, uts and cgroup
 * namespaces; with `network` in this process's network instead. What it is to be it is told later. *ret_go leads to the other of the two. *ret_pid is 0 in the child; there
 * may be one where this failed, too. */
int identity_start(bool network, pid_t *ret_pid, int *ret_go, struct err *err);

/* As the user who owns the namespaces of `pid`: maps this uid and gid to themselves there. 0 or -errno. */
int identity_write_maps(pid_t pid, uint32_t uid, uint32_t gid);
/* A user namespace that exists only as a mapping, of the root's owner to the cell's user. identity_done ends what it
 * leaves. */
int identity_open_mapping(const struct cell_root *root, const struct cell_spec *spec, int *ret_fd,
                          struct err *err);

/* The parent's part: maps the cell's uid and gid to themselves. */
int identity_map(const struct cell_spec *spec, pid_t launcher, struct err *err);

/* The child's part, after that: becomes the cell's user for good, with all capabilities in its namespace. */
int identity_become(const struct cell_spec *spec, struct err *err);

/* Without namespaces: becomes the cell's user for good, without capabilities. Files of a folder that is root's are opened as
 * their owner all the same; that ends with the next program, and Landlock says which files there are. */
int identity_drop(const struct cell_spec *spec, struct err *err);

/* The parent has done its part. */
void identity_done(void);

#endif
