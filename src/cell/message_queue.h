/* Messages that a socket has no room for yet, in their order. */
#ifndef SANDGATE_CELL_MESSAGE_QUEUE_H
#define SANDGATE_CELL_MESSAGE_QUEUE_H

#include "base/attr.h"

struct queued_message {
    struct queued_message *next;
    int fd; /* goes with it; -1: none */
    size_t n;
    char bytes[];
};

/* Starts as MESSAGE_QUEUE_INIT, with its own address. */
struct message_queue {
    struct queued_message *first;
    struct queued_message **end;
    size_t bytes;
};
#define MESSAGE_QUEUE_INIT(queue)                                                                  \
    {                                                                                              \
        .end = &(queue)->first                                                                     \
    }

/* Takes `fd`. */
void message_queue_add(struct message_queue *queue, struct str message, int fd);
/* Frees the first. */
void message_queue_drop(struct message_queue *queue);

#endif
