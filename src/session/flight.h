/* Calls in a cell's hands, found by token, and what the cell says about them. Everything a cell sends
 * is checked here: a token that is not in flight, a field of the wrong type or range, a body over its
 * limit are breaches, not errors. */
#ifndef SANDGATE_SESSION_FLIGHT_H
#define SANDGATE_SESSION_FLIGHT_H

#include "cell/frame.h"
#include "cell/shelf.h"
#include "core/call.h"

struct flight {
    struct call **slots;
    uint32_t *generations; /* a slot's token changes with each use */
    uint32_t *free;        /* stack of free slots */
    size_t n_slots;
    size_t n_free;
    size_t n_locking; /* calls that may wait for the lock of a folder */
};

enum flight_result {
    FLIGHT_MORE,   /* a piece; the rest follows */
    FLIGHT_DONE,   /* call->reply and call->reply_body are filled in */
    FLIGHT_FAILED, /* the operation failed; err says how */
    FLIGHT_BROKEN, /* the frame broke the rules */
};

void flight_init(struct flight *f);
void flight_done(struct flight *f);
/* Returns the call's token, never 0. */
uint64_t flight_add(struct flight *f, struct call *call);
struct call *flight_find(const struct flight *f, uint64_t token);
void flight_remove(struct flight *f, struct call *call);
static inline size_t flight_count(const struct flight *f)
{
    return f->n_slots - f->n_free;
}
struct call *flight_first(const struct flight *f);

/* `shelf` may have no memory: then nothing can lie on it. */
enum flight_result flight_take(struct call *call, const struct frame *frame,
                               const struct shelf *shelf, struct err *err);

/* The frame for a prepared call, without its token; its head is written into `head`. A body too large for
 * a frame goes by *ret_body_fd, which is left alone otherwise. */
int flight_frame(const struct call *call, uint32_t processor, struct buf *head, struct frame *ret,
                 int *ret_body_fd, struct err *err);

#endif
