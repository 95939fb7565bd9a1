/* Whose reply lies on the shelf (cell/shelf.h) of a session's cell. */
#ifndef SANDGATE_SESSION_SHELVING_H
#define SANDGATE_SESSION_SHELVING_H

#include "cell/cell.h"
#include "cell/shelf.h"

struct shelving {
    struct shelf shelf;
    uint64_t owner; /* the call's token; 0: nobody's */
    bool taken;     /* the gate has taken what lay there: the shelf can be given back */
};

/* With a new cell; *ret_fd is for that, -1 where there can be none. */
void shelving_open(struct shelving *s, int *ret_fd);
void shelving_close(struct shelving *s);

/* Before a frame that says where something lies: one call has the shelf until it is given back. */
bool shelving_take(struct shelving *s, uint64_t token);
/* Before a call is sent, which has to be done anyway. */
void shelving_give_back(struct shelving *s, struct cell *cell);

#endif
