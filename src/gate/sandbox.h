/* What the machine allows a sandbox to enforce, as it was found, and what the operator requires of it. */
#ifndef SANDGATE_GATE_SANDBOX_H
#define SANDGATE_GATE_SANDBOX_H

#include "cell/mechanisms.h"
#include "core/config.h"

/* Tries everything anew and keeps what is found in the state folder; -1: it is not there. That it could not be kept is no
 * error. */
int sandbox_find(int state_fd, struct findings *ret, struct err *err);

/* Refuses a start where `sandbox.require` names a tier that cannot be had. Without that setting nothing is looked at;
 * with it, what was kept counts if all of it was there. */
int sandbox_require(const struct config *config, int state_fd, struct err *err);

#endif
