/* What a command made that the user's programs would obey is taken out of the project, or told of, before the command is
 * answered. The scan after the command (scan_after.c) has found it. */
#ifndef SANDGATE_SESSION_QUARANTINE_H
#define SANDGATE_SESSION_QUARANTINE_H

#include "core/call.h"

/* Steps of session/command_after.h. The second has the worker forget what was taken out: if it is made once more, that is
 * found as well. */
bool quarantine_after(struct call *call);
bool quarantine_scan(struct call *call);

#endif
