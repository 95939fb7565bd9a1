/* The calls that a guest has passed on to the session's owner, by the number of their line. When the owner ends, each
 * that has no answer yet gets one here: INTERRUPTED. */
#ifndef SANDGATE_FRONT_GUEST_CALLS_H
#define SANDGATE_FRONT_GUEST_CALLS_H

#include "dialect/format.h"

struct guest_call;

struct guest_calls {
    enum format_id format;
    const struct dialect *dialect;
    struct guest_call *first; /* in the order of their lines */
    struct guest_call **end;
    uint64_t taken;  /* lines so far */
    struct buf line; /* the one at hand */
    bool cut;        /* it is too long to be read */
    uint64_t bytes;  /* all that came */
};

void guest_calls_init(struct guest_calls *calls, enum format_id format,
                      const struct dialect *dialect);
void guest_calls_done(struct guest_calls *calls);

/* Bytes of lines, as they come from the caller. */
void guest_calls_take(struct guest_calls *calls, struct str bytes);
/* Nothing more comes: what was cut off counts as a line. */
void guest_calls_take_end(struct guest_calls *calls);
/* The line with this number, from 1, was dealt with. */
void guest_calls_answered(struct guest_calls *calls, uint64_t number);
/* The number of the last line that lies whole in the first `sent` bytes. */
uint64_t guest_calls_reached(const struct guest_calls *calls, uint64_t sent);
/* Part of a line is there. */
bool guest_calls_in_line(const struct guest_calls *calls);
/* Answers all that are left and returns how many these were. `sent`: so many bytes reached the owner, so what lies
 * behind them was not begun. `hangs`: it has not ended. */
size_t guest_calls_interrupt(struct guest_calls *calls, uint64_t sent, bool hangs, struct buf *out);
/* The same with an error of one's own: none of them was sent. */
size_t guest_calls_refuse(struct guest_calls *calls, const struct err *err, struct buf *out);

#endif
