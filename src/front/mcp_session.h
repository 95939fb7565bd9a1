/* The session that `sandgate mcp` works in, where neither options nor configuration choose another way: its changes go to a
 * layer, and wait there for a person's review. */
#ifndef SANDGATE_FRONT_MCP_SESSION_H
#define SANDGATE_FRONT_MCP_SESSION_H

#include "base/buf.h"
#include "front/options.h"
#include "session/named.h"

/* 1: an overlay session of its own; 0: the folder itself. */
int mcp_session_is_wanted(const struct options *o, struct err *err);
/* Makes one of the folder that the options name. `id` is its name. */
int mcp_session_make(int state_fd, const struct options *o, char id[NAMED_ID_MAX], struct err *err);
/* What the model is told: where its changes are, how they are reviewed, and which earlier ones wait for that. Nothing of a
 * session in host mode. */
void mcp_session_words(int state_fd, const struct named *named, struct buf *out);
/* The gate has ended. `made`: the session was made for it, and goes where nothing was changed. */
void mcp_session_end(int state_fd, struct named *named, bool made, const struct options *o);

#endif
