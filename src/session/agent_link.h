/* A link that an agent can have made or changed is no way to the folder of a session: it may lead anywhere. */
#ifndef SANDGATE_SESSION_AGENT_LINK_H
#define SANDGATE_SESSION_AGENT_LINK_H

#include "base/err.h"

/* Refuses a path that leads through a link in a folder, or below one, that was the first folder of a session of this state
 * folder. `state_fd` -1: none are known. */
int agent_link_check(int state_fd, const char *path, struct err *err);

#endif
