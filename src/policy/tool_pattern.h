/* Which tools a rule is about: `toolName` is a name, or a glob over names. A tool is meant by its name and by the
 * alias that it has where dots are forbidden. */
#ifndef SANDGATE_POLICY_TOOL_PATTERN_H
#define SANDGATE_POLICY_TOOL_PATTERN_H

#include "core/glob.h"
#include "core/tool.h"

struct tool_glob;
struct tool_pattern {
    char *text;
    struct tool_glob *glob; /* NULL: the text is a name. Copies share it */
    bool all;               /* `*` */
};

/* -1: `field` is what the error is about. */
int tool_pattern_read(struct tool_pattern *ret, const char *text, const char *field,
                      struct err *err);
/* Another of the same text. */
struct tool_pattern tool_pattern_copy(const struct tool_pattern *pattern);
void tool_pattern_done(struct tool_pattern *pattern);

/* `tool` may be NULL: then only the name counts. */
bool tool_pattern_matches(const struct tool_pattern *pattern, const struct tool *tool,
                          const char *name);

/* The row of a tool that is not there yet but that rules may be about: `http`, `browser`. NULL: there is none. */
const struct tool *tool_absent(const char *name);

/* All tools that rules may be about, those not yet there included; NULL-ended. The caller frees the array. */
const struct tool **tool_list(void);

/* Those of `tools` that a pattern means; NULL-ended. The caller frees the array. */
const struct tool **tools_meant(const struct tool_pattern *pattern,
                                const struct tool *const *tools);

const struct arg *tool_argument(const struct tool *tool, struct str name);

#endif
