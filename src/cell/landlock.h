/* Landlock: a process's own lasting limit on which files it can reach. */
#ifndef SANDGATE_CELL_LANDLOCK_H
#define SANDGATE_CELL_LANDLOCK_H

#include "base/err.h"

/* Reading is always allowed. */
struct landlock_rule {
    int folder; /* an open directory */
    bool writable;
    bool command; /* running programs and, where writable, making named pipes and sockets */
    bool devices; /* using what is there, with ioctl too: for /dev */
};

/* The kernel's version of the interface, 0 when there is none. */
int landlock_abi(void);
/* From here on this thread and all it starts can use only what lies beneath the folders and, where the
 * kernel knows how, no abstract socket and no process outside and, unless `tcp`, no TCP port. */
int landlock_restrict(const struct landlock_rule *rules, size_t count, bool tcp, struct err *err);
/* From here on a file is opened, made, changed in length, renamed or removed only where mounts connect it to this
 * process's root. The kernel looks for rules from a file upwards and ends at a mount that was taken off: with a
 * descriptor from a mount namespace that has ended, whose covers are gone, none is found. */
int landlock_stay_connected(struct err *err);
/* Opens a device so that whoever gets the descriptor can read it and nothing else: a terminal's modes are set with ioctl,
 * which reading is enough for. A descriptor, or -errno: before Linux 6.10 the kernel has no such. */
int landlock_open_device(const char *path);

#endif
