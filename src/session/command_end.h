/* How a command ended, from what its first process said. */
#ifndef SANDGATE_SESSION_COMMAND_END_H
#define SANDGATE_SESSION_COMMAND_END_H

#include "cell/limits.h"
#include "cell/order.h"
#include "core/command.h"

/* Reads what has come of an account behind what came before. 1: it is whole, *ret is the frame in `account`; 0: more
 * is to come; -1: no more comes. */
int command_read_account(int fd, struct buf *account, struct frame *ret);
/* What the launcher says of a first process without an account (FRAME_ENDED); texts are of *ret_doc. */
struct command_death {
    struct str message;
    bool busy; /* the command has not begun */
};
struct command_death command_read_death(const struct frame *frame, yyjson_doc **ret_doc);

/* Without an account, what it used is known from its control group alone. */
void command_take_counted(struct command *command, const struct limits_seen *seen);
/* `stopped`: somebody asked for its end. */
void command_take_end(struct command *command, const struct ran *ran, bool stopped,
                      const struct limit_group *group);

#endif
