/* Limits of the kernel that all processes of a user share: a cell gets a part of each, so that no command takes
 * everything from the gate and the user's other programs. */
#ifndef SANDGATE_CELL_USER_LIMITS_H
#define SANDGATE_CELL_USER_LIMITS_H

/* Of inotify descriptors at most: each can hold some 8 MiB of events. */
#define USER_LIMITS_INOTIFY 32

/* For this process's user namespace. Needs CAP_SYS_RESOURCE in it and the machine's /proc. Where that cannot be written,
 * as in most containers, the user's own limits are all there is. */
void user_limits_set(void);

#endif
