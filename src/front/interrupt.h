/* Signals that ask a process with a single call to end: the call is cancelled and answered, so that what a command has made
 * is looked at before the process ends. A signal that was ignored when the program started stays ignored. */
#ifndef SANDGATE_FRONT_INTERRUPT_H
#define SANDGATE_FRONT_INTERRUPT_H

#include <uv.h>

#include "core/call.h"

#define INTERRUPT_SIGNALS 4

struct interrupt {
    uv_signal_t handles[INTERRUPT_SIGNALS];
    struct call **call;
};

/* `*call` is NULL once it is answered. `interrupt` stays where it is until the loop has ended. */
void interrupt_start(struct interrupt *interrupt, uv_loop_t *loop, struct call **call);
void interrupt_stop(struct interrupt *interrupt);

#endif
