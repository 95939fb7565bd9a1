/* What a command's first process said, put into the command's own fields and into words. */
#ifndef SANDGATE_SESSION_COMMAND_END_H
#define SANDGATE_SESSION_COMMAND_END_H

#include "cell/limits.h"
#include "cell/order.h"
#include "core/command.h"

/* `stopped`: somebody asked for its end. */
void command_take_end(struct command *command, const struct ran *ran, bool stopped,
                      const struct limit_group *group);
/* Why there was no command, in the words for the caller. */
void command_describe(const struct command *command, const struct ran *ran, struct err *err);

#endif
