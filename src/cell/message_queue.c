#include "cell/message_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"

void message_queue_add(struct message_queue *queue, struct str message, int fd)
{
    struct queued_message *m = mem_zero(sizeof *m + message.n);
    memcpy(m->bytes, message.p, message.n);
    m->n = message.n;
    m->fd = fd;
    *queue->end = m;
    queue->end = &m->next;
    queue->bytes += m->n;
}

void message_queue_drop(struct message_queue *queue)
{
    struct queued_message *m = queue->first;
    queue->first = m->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->bytes -= m->n;
    fd_closep(&m->fd);
    free(m);
}
