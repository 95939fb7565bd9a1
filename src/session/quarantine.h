/* What a command made that the user's programs would obey is taken out of the project, or told of, before the command is
 * answered. The scan after the command (scan_after.c) has found it. */
#ifndef SANDGATE_SESSION_QUARANTINE_H
#define SANDGATE_SESSION_QUARANTINE_H

#include "core/call.h"

/* Adds what was found in a root to one of the lists of struct command_after. */
void quarantine_add(struct buf *list, size_t root, const struct op_guarded *entry);

/* Steps of session/command_after.h. The second goes back to the scan where something was done: what comes to light is
 * seen to as well, and what was taken out is forgotten, so that it is found if it is made once more. */
bool quarantine_after(struct call *call);
bool quarantine_again(struct call *call);

#endif
