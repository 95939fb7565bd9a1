/* What the launcher does once the worker runs: it obeys the gate's orders, makes the first processes of commands, keeps
 * guarded files covered, and waits for whoever ends. */
#ifndef SANDGATE_CELL_SUPERVISOR_H
#define SANDGATE_CELL_SUPERVISOR_H

#include <sys/types.h>

#include "cell/spec.h"

/* Until the gate or the worker is gone; the exit status. `signals` tells of SIGCHLD. */
int supervise(const struct cell_spec *spec, pid_t worker, int signals);

#endif
