/* What a command made that the user's programs would obey is taken out of the project, or told of, before the command is
 * answered. The scan after the command (scan_after.c) has found it. */
#ifndef SANDGATE_SESSION_QUARANTINE_H
#define SANDGATE_SESSION_QUARANTINE_H

#include "core/call.h"

struct session;

/* Adds what was found in a root to one of the lists of struct command_after. */
void quarantine_add(struct buf *list, size_t root, const struct op_guarded *entry);

/* Steps of session/command_after.h. The second goes back to the scan where something was done: what comes to light is
 * seen to as well, and what was taken out is forgotten, so that it is found if it is made once more. */
bool quarantine_after(struct call *call);
bool quarantine_again(struct call *call);

/* For the parts of it. What a call of the session's own was answered: its word among violations, and what its user is told.
 * Where something went is told to the user alone: an answer has no room for that, and its reader no access. */
const char *quarantine_kind(const struct call *own);
void quarantine_tell(const struct session *session, const struct call *own);
/* Sends one; true: the answer is to come. When it has come, the command goes on. */
bool quarantine_ask(struct session *session, struct call *own, const struct op_guarded *entry);
void quarantine_go_on(struct call *call);

#endif
