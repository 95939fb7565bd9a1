/* The hooks that the operator configured, checked. */
#ifndef SANDGATE_GATE_HOOK_LIST_H
#define SANDGATE_GATE_HOOK_LIST_H

#include "core/config.h"
#include "policy/tool_pattern.h"

#define HOOKS_MAX 32

struct hook {
    bool after;
    struct tool_pattern tools;
    char **argv; /* NULL-ended; the first is an absolute path */
    int64_t timeout_ms;
};

struct hook_list {
    struct hook *all;
    size_t count; /* the first is hooks[0] */
};

/* Reads them and looks at their programs: one that is missing, cannot be run, or could be changed by someone else is
 * refused. */
int hook_list_read(const struct config *config, struct hook_list *ret, struct err *err);
void hook_list_done(struct hook_list *list);

/* Those that are about this tool, a bit for each. */
uint32_t hook_list_match(const struct hook_list *list, bool after, const struct tool *tool,
                         const char *name);

/* The folders their programs are in, once each, behind those in `shown`. The texts are the caller's. */
int hook_list_folders(const struct hook_list *list, const struct str *shown, size_t n_shown,
                      char **ret, size_t max, struct err *err);

#endif
