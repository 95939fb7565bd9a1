/* Whether the tools that a configuration names exist: a rule about a misspelt one would quietly be about nothing. */
#ifndef SANDGATE_POLICY_TOOL_NAMES_H
#define SANDGATE_POLICY_TOOL_NAMES_H

#include "core/config.h"
#include "core/tool.h"

/* Whether a tool of any dialect is meant by the text, a name or a glob; of a glob with braces, by each of its
 * expansions. -1: the error names `field` and the tool that is spelled most like it. `tools` is NULL-ended. */
int tool_names_check(const struct tool *const *tools, const char *text, const char *field,
                     struct err *err);

/* The same for the keys of the maps that are about tools: `policy.enabled`, `policy.rateLimits`,
 * `policy.resourceLimits`. They are names; one with `?` behind it, or "optional": true in its object, may be missing. */
int tool_names_check_maps(const struct tool *const *tools, const struct config *config,
                          struct err *err);

#endif
