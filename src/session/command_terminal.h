/* The gate's end of a command's terminal: takes it from the command's first process, passes on what comes of it. */
#ifndef SANDGATE_SESSION_COMMAND_TERMINAL_H
#define SANDGATE_SESSION_COMMAND_TERMINAL_H

#include <uv.h>

#include "cell/frame.h"
#include "core/call.h"

struct command_terminal;

/* For a call with a `terminal`; *ret is NULL for any other. The end that goes to the command into `away`. */
int command_terminal_new(uv_loop_t *loop, struct call *call, struct frame_fds *away,
                         struct command_terminal **ret, struct err *err);
/* All that is still in it. */
void command_terminal_drain(struct command_terminal *terminal);
/* NULL is none. The call's `terminal` is empty then. */
void command_terminal_free(struct command_terminal *terminal);
/* Its program goes on, after it was stopped. */
void command_terminal_resume(const struct call *call);

#endif
