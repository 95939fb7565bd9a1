/* The tools of whoever started the gate: what lies on their PATH besides the system's is shown to commands, read-only, with
 * what such tools need of their home. */
#ifndef SANDGATE_GATE_USER_TOOLS_H
#define SANDGATE_GATE_USER_TOOLS_H

#include "core/config.h"
#include "gate/reach.h"

/* Lays it over commands.show and commands.path, where commands.userTools says so. Left out is what an agent could change or
 * others than root and the user could, and what the sandbox has itself (/tmp). `env`: variables that the tools need,
 * NAME=value with a NUL behind each. */
int user_tools_use(struct config *config, const struct reach *reach, struct buf *env,
                   struct err *err);

/* Name and address of the user's git configuration as a configuration of their own, where commands.gitIdentity says so;
 * NULL: there are none. To be freed. */
char *user_tools_gitconfig(const struct config *config);

#endif
