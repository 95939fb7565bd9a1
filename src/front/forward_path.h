/* Where a session's owner listens, and how it marks its answers. */
#ifndef SANDGATE_FRONT_FORWARD_PATH_H
#define SANDGATE_FRONT_FORWARD_PATH_H

#include <stdio.h>
#include <sys/un.h>

#define FORWARD_SOCKET "socket"
/* A line of this character and the number of the caller's line stands before each answer. With the second behind it
 * there is no answer. No answer begins so: JSON does not. */
#define FORWARD_MARK '\x1e'
#define FORWARD_NO_ANSWER '.'
/* In place of a number: the owner ends by itself and answers what it has. */
#define FORWARD_GOODBYE '!'

/* Through the open folder: the path of a state folder may be longer than a socket's address. */
static inline void forward_address(int dir_fd, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/" FORWARD_SOCKET, dir_fd);
}

#endif
