/* Where a session's owner listens. */
#ifndef SANDGATE_FRONT_FORWARD_PATH_H
#define SANDGATE_FRONT_FORWARD_PATH_H

#include <stdio.h>
#include <sys/un.h>

#define FORWARD_SOCKET "socket"

/* Through the open folder: the path of a state folder may be longer than a socket's address. */
static inline void forward_address(int dir_fd, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/" FORWARD_SOCKET, dir_fd);
}

#endif
