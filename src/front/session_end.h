/* What becomes of a session that a command made for itself, when the command ends. It is this process's. */
#ifndef SANDGATE_FRONT_SESSION_END_H
#define SANDGATE_FRONT_SESSION_END_H

#include <stdbool.h>
#include <stddef.h>

#include "session/named.h"

/* Whether something in it may have changed: a layer that cannot be opened was. */
bool session_is_touched(const struct named *named);
/* Where that fails, the session stays and a warning says why. */
void session_remove_own(int state_fd, struct named *named);
/* On standard error: its id, and how its changes are looked at and dropped. */
void session_tell_kept(const struct named *named, size_t changes);

#endif
