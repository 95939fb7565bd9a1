/* Where a session's owner listens, how it marks its answers, and what a guest asks for beside calls. */
#ifndef SANDGATE_FRONT_FORWARD_PATH_H
#define SANDGATE_FRONT_FORWARD_PATH_H

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FORWARD_SOCKET "socket"
/* A line of this character and the number of the caller's line stands before each answer. With the second behind it
 * there is no answer. No answer begins so: JSON does not. */
#define FORWARD_MARK '\x1e'
#define FORWARD_NO_ANSWER '.'
/* In place of a number: the owner ends by itself and answers what it has. */
#define FORWARD_GOODBYE '!'

/* Alone: the owner is there, while calls of this connection are on their way. Without one for so long, and without
 * anything else, it hangs. */
#define FORWARD_BEAT '~'
#define FORWARD_BEAT_MS 3000
#define FORWARD_SILENCE_MS 20000
#define FORWARD_HANGS                                                                              \
    "the session's owner does not answer any more; whether the call was done is not known, look "  \
    "before repeating it"

/* A guest's line: its calls are to be cancelled, and nothing more comes. */
#define FORWARD_STOP "{\"stop\":true}"

/* Through the open folder: the path of a state folder may be longer than a socket's address. */
static inline void forward_address(int dir_fd, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/" FORWARD_SOCKET, dir_fd);
}

#endif
