/* The gate from the inside: gate.c puts it together, gate_sessions.c has its sessions. */
#ifndef SANDGATE_GATE_GATE_PARTS_H
#define SANDGATE_GATE_GATE_PARTS_H

#include "gate/gate.h"

/* Its own session, by gate->options; with it what depends on the folders of that: the anchor's environment, and the
 * toolhost's log. */
int gate_open_own_session(struct gate *gate, struct err *err);
void gate_free_sessions(struct gate *gate);

#endif
