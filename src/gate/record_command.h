/* What a record says of a command: what was to be run, and how it ended. */
#ifndef SANDGATE_GATE_RECORD_COMMAND_H
#define SANDGATE_GATE_RECORD_COMMAND_H

#include "core/call.h"

/* The arguments that `command` stands for: `input` leaves them out. */
#define RECORD_COMMAND_USES (ARG_ANY_COMMAND | ARG_ENV | ARG_INPUT)

/* Writes the field `command`. False: the call is not one for a command, or its arguments do not say one, and nothing was
 * written. The fields are the same in all dialects. */
bool record_command(const struct call *call, struct json_out *j);
/* The fields of it that a hook's program has. What that reads is the call that it is asked about. */
void record_hook_command(const struct call *call, struct json_out *j);
/* Writes the field `end`, for a call that was recorded with `command`. */
void record_end(const struct call *call, struct json_out *j);

#endif
