/* Signals that end a guest: as an owner does, it cancels its calls and passes their answers on before it ends. */
#ifndef SANDGATE_FRONT_GUEST_STOP_H
#define SANDGATE_FRONT_GUEST_STOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#define GUEST_STOP_SIGNALS 4

struct guest_stop {
    sigset_t before;
    struct sigaction usual[GUEST_STOP_SIGNALS];
};

/* For the time before: nothing was read or begun yet, and a signal ends the program with that as it ends a gate. */
void guest_stop_at_once(void);
/* From now on signals are noted, and only guest_stop_poll hears of them. */
void guest_stop_begin(struct guest_stop *stop);
/* As it was before. */
void guest_stop_end(struct guest_stop *stop);
/* Whether one came. */
bool guest_stop_asked(void);
/* As poll. */
int guest_stop_poll(const struct guest_stop *stop, struct pollfd *fds, unsigned n, int timeout_ms);

#endif
