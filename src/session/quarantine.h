/* What a command made that the user's programs would obey is taken out of the project, or told of, before the command is
 * answered. The scan after the command (scan_after.c) has found it. */
#ifndef SANDGATE_SESSION_QUARANTINE_H
#define SANDGATE_SESSION_QUARANTINE_H

#include "core/call.h"

/* A step of session/command_after.h. */
bool quarantine_after(struct call *call);

#endif
