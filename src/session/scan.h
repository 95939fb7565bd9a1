/* Finding what the rules about files name, before a command starts that asks nobody. */
#ifndef SANDGATE_SESSION_SCAN_H
#define SANDGATE_SESSION_SCAN_H

#include "session/session.h"

/* Looks through the folders that commands have and tells the launcher; then the calls that wait go on. */
void scan_start(struct session *session);
/* What was found is too old for a command to start with: it waits for a scan. */
bool scan_is_old(const struct session *session);
/* The same beside a command that has just started, for the next one, unless it was done a moment ago. */
void scan_again(struct session *session);

#endif
