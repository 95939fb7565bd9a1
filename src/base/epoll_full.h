/* An event loop that goes on when the kernel takes no more descriptors into an epoll set.
 *
 * All processes of a user share fs.epoll.max_user_watches, so that any of them can use it up at any time, and libuv ends
 * the process when a descriptor cannot be added. Therefore epoll_ctl, epoll_wait and epoll_pwait are defined here, in
 * place of the C library's: a descriptor for which the set has no room is asked about with poll(2), until there is room.
 *
 * For one thread: that of the loop. */
#ifndef SANDGATE_BASE_EPOLL_FULL_H
#define SANDGATE_BASE_EPOLL_FULL_H

#include <stddef.h>

/* Before a loop is made: a linker takes what a program refers to. */
void epoll_full_use(void);
/* How many descriptors are in no epoll set at present. */
size_t epoll_full_count(void);

#endif
