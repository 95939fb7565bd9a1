/* Telling the launcher which programs a command must not start (core/denials.h), where that is not what it was told
 * before. */
#ifndef SANDGATE_SESSION_COMMAND_DENIED_H
#define SANDGATE_SESSION_COMMAND_DENIED_H

#include "cell/cell.h"
#include "core/call.h"

struct command_denied {
    const struct cell *told; /* the cell that has the list */
    struct denials *list;
    bool lines; /* and whether bash is needed */
};

/* Before the call's first process is made or ordered. */
int command_denied_tell(struct command_denied *denied, struct cell *cell, const struct call *call,
                        struct err *err);
/* Whether commands of this tool are lines for a shell, which is needed then. */
bool command_takes_lines(const struct tool *tool);
/* There is no such cell any more. */
void command_denied_forget(struct command_denied *denied);

#endif
