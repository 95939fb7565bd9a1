/* What the operator requires of the sandbox. */
#ifndef SANDGATE_GATE_SANDBOX_H
#define SANDGATE_GATE_SANDBOX_H

#include "core/config.h"

/* Refuses a start where `sandbox.require` names a tier, and neither that nor a stronger one can be had. Without that setting
 * nothing is looked at; with it, what was kept counts if it is enough. */
int sandbox_require(const struct config *config, int state_fd, struct err *err);

#endif
