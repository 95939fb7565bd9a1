/* Calls that the worker has received and no thread has taken up. For several threads, under the worker's lock. */
#ifndef SANDGATE_WORK_INBOX_H
#define SANDGATE_WORK_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "cell/frame.h"

/* A message of several frames, kept until the last of its calls is done. */
struct message {
    unsigned calls;
    char bytes[];
};

struct received {
    struct message *message; /* NULL: the frame is in the buffer of the thread that received it */
    struct frame frame;
    int fd; /* FRAME_FD_LOST: it came, and there was no room for it */
};

struct inbox {
    struct received *calls;
    size_t first;
    size_t end;
    size_t room;
};

/* Whether the call may have to wait for the lock of a folder. */
bool received_may_wait(const struct received *call);

/* Takes over the descriptor. False where there is no memory. */
bool inbox_put(struct inbox *inbox, const struct received *call);
/* The oldest; `no_waiting`: of those that need not wait. NULL: there is none. */
struct received *inbox_find(struct inbox *inbox, bool no_waiting);
/* The one with this token; NULL: there is none. */
struct received *inbox_find_token(struct inbox *inbox, uint64_t token);
/* Takes one out that was found. */
struct received inbox_take(struct inbox *inbox, struct received *call);

#endif
