/* All tools of all dialects. */
#ifndef SANDGATE_CORE_REGISTRY_H
#define SANDGATE_CORE_REGISTRY_H

#include "core/tool.h"

/* A NULL-ended list of rows; the program gives it once, at its start. */
void registry_use(const struct tool *const *tools);
/* Tools beside these, a NULL-ended list that stays the caller's (NULL: none): those that came with manifests. */
void registry_use_more(const struct tool *const *tools);

/* By name or alias; NULL with an error that lists what there is. */
const struct tool *registry_find(enum dialect_id dialect, struct str name, struct err *err);
/* The next tool of a dialect after `after` (NULL: the first), NULL at the end. */
const struct tool *registry_next(enum dialect_id dialect, const struct tool *after);

#endif
