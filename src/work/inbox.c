#include "work/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "core/op.h"

/* The gate writes the name of the operation first. Whoever is taken for another only waits longer, or holds a thread. */
bool received_may_wait(const struct received *call)
{
    static const char before[] = "{\"op\":\"";
    const size_t begin = sizeof before - 1;
    struct str head = call->frame.head;
    if (head.n < begin || memcmp(head.p, before, begin) != 0)
        return false;
    const char *name = head.p + begin;
    const char *end = memchr(name, '"', head.n - begin);
    const struct op *op = end ? op_find((struct str){name, (size_t)(end - name)}) : NULL;
    return op && op->waits;
}

bool inbox_put(struct inbox *inbox, const struct received *call)
{
    if (inbox->end == inbox->room) {
        size_t room = inbox->room ? 2 * inbox->room : 64;
        void *calls = reallocarray(inbox->calls, room, sizeof *inbox->calls);
        if (!calls)
            return false;
        inbox->calls = calls;
        inbox->room = room;
    }
    inbox->calls[inbox->end++] = *call;
    return true;
}

struct received *inbox_find(struct inbox *inbox, bool no_waiting)
{
    for (size_t i = inbox->first; i < inbox->end; i++) {
        if (!no_waiting || !received_may_wait(&inbox->calls[i]))
            return &inbox->calls[i];
    }
    return NULL;
}

struct received *inbox_find_token(struct inbox *inbox, uint64_t token)
{
    for (size_t i = inbox->first; i < inbox->end; i++) {
        if (inbox->calls[i].frame.token == token)
            return &inbox->calls[i];
    }
    return NULL;
}

struct received inbox_take(struct inbox *inbox, struct received *call)
{
    struct received taken = *call;
    size_t before = (size_t)(call - (inbox->calls + inbox->first));
    memmove(inbox->calls + inbox->first + 1, inbox->calls + inbox->first, before * sizeof *call);
    if (++inbox->first == inbox->end)
        inbox->first = inbox->end = 0;
    return taken;
}
