/* What a workspace's own file does: settings laid over the operator's, and the rules about files that come of
 * both. */
#ifndef SANDGATE_SESSION_SETTINGS_H
#define SANDGATE_SESSION_SETTINGS_H

#include "core/call.h"

#define SETTINGS_FILE "sandgate.json"

/* The operator's configuration with the file over it that `read` has read (there may be none); with `expected`
 * false it only looked whether the folder is there. NULL with the error for every call: someone meant to
 * tighten and it cannot be read, so nothing runs. */
struct config *settings_lay_over(const struct config *operator_config, const struct call *read,
                                 bool expected, struct err *err);

/* `files.protected`, `files.secret` and the session's own rules (own_rules.h) for a worker, in the place of what `rules`
 * held. Whether they are others. `overlay`: a change runs no code on the host, so that only the settings themselves are
 * protected: without them the next cell would be allowed more. */
bool settings_pack_rules(const struct config *config, bool overlay, struct str own,
                         struct buf *rules);

#endif
