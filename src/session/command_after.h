/* What is left to do between the end of a command's last process and its answer: taking over what it wrote to git
 * directories, looking for what it made. Each step may take turns of the loop. */
#ifndef SANDGATE_SESSION_COMMAND_AFTER_H
#define SANDGATE_SESSION_COMMAND_AFTER_H

#include "core/call.h"

/* Takes the steps, then finishes the call with `err` (NULL: none). */
void command_after(struct call *call, const struct err *err);
/* False: the steps have not begun. Else they go on: what the command made is not left unjudged for a cancel. */
bool command_after_cancel(struct call *call);
/* A step that returned true has come to its end. */
void command_after_go_on(struct call *call);

#endif
