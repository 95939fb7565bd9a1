/* Control groups of a session's commands. That of the next command is taken ahead of time, and its first process is made
 * in it. */
#ifndef SANDGATE_SESSION_COMMAND_GROUPS_H
#define SANDGATE_SESSION_COMMAND_GROUPS_H

#include "cell/cell.h"
#include "cell/limits.h"

struct command_groups {
    char tag[16];
    struct limits *limits; /* looked for when the first command starts */
    /* The next command's group and its limits, and the cell that was told of it. */
    struct limit_group *next;
    struct limits_want next_want;
    const struct cell *ready_in;
};

/* `tag` is random text of this gate. */
void command_groups_init(struct command_groups *groups, const char *tag);
void command_groups_done(struct command_groups *groups);
/* Has the next command's first process made in a group with these limits, if that was not done. */
int command_groups_prepare(struct command_groups *groups, struct cell *cell,
                           const struct limits_want *want, struct err *err);
/* Whether they share out the processors; looked for if that was not done. */
bool command_groups_hold_cpu(struct command_groups *groups);
/* Gives up what is only kept for later commands. */
void command_groups_drop_spare(struct command_groups *groups);
/* The group that was prepared; NULL: there are none to be had. */
struct limit_group *command_groups_take(struct command_groups *groups);
/* Its command was not ordered: the first process that was made for it waits for another. */
void command_groups_put_back(struct command_groups *groups, struct limit_group *group,
                             const struct cell *cell);

#endif
