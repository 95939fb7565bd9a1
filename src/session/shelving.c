#include "session/shelving.h"

#include "base/log.h"

void shelving_open(struct shelving *s, int *ret_fd)
{
    *ret_fd = -1;
    if (shelf_make(&s->shelf, ret_fd) < 0)
        log_warning("no memory is shared with the cell: long replies take longer");
}

void shelving_close(struct shelving *s)
{
    shelf_done(&s->shelf);
    *s = (struct shelving){0};
}

bool shelving_take(struct shelving *s, uint64_t token)
{
    if (!s->owner)
        s->owner = token;
    return s->owner == token;
}

void shelving_give_back(struct shelving *s, struct cell *cell)
{
    struct frame frame = {.type = FRAME_SHELF};
    struct err err;
    if (!s->taken || cell_send(cell, &frame, -1, &err) < 0)
        return;
    s->taken = false;
    s->owner = 0;
}
