/* Calls that wait for a place in a cell. Whose they are take turns, so that one who sends many does not keep the others
 * waiting; of each, the oldest goes first. */
#ifndef SANDGATE_SESSION_TURNS_H
#define SANDGATE_SESSION_TURNS_H

#include "core/call.h"

struct turn;
struct turns {
    struct turn *next; /* whose turn it is; a ring; NULL: no call waits */
};

void turns_add(struct turns *turns, struct call *call);
/* NULL: none waits. */
struct call *turns_take(struct turns *turns);
/* Takes this one out; false: it is not among them. */
bool turns_drop(struct turns *turns, struct call *call);

#endif
