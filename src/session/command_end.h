/* How a command ended, from what its first process said. */
#ifndef SANDGATE_SESSION_COMMAND_END_H
#define SANDGATE_SESSION_COMMAND_END_H

#include "cell/limits.h"
#include "cell/order.h"
#include "core/command.h"

/* `stopped`: somebody asked for its end. */
void command_take_end(struct command *command, const struct ran *ran, bool stopped,
                      const struct limit_group *group);

#endif
