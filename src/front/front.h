/* The program's commands. Each takes what stands behind its name and returns the exit status. */
#ifndef SANDGATE_FRONT_FRONT_H
#define SANDGATE_FRONT_FRONT_H

#include "front/options.h"
#include "gate/gate.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_TOOL_ERROR = 1,
    EXIT_USAGE = 2,
    EXIT_DENIED = 3,
    EXIT_NOT_APPROVED = 4,
};

int front_call(int argc, char *const *argv);
int front_stdio(int argc, char *const *argv);
int front_tools(int argc, char *const *argv);

/* Turns the options into what a gate needs; `state_path` (free it) is where a run's @state is. */
int front_gate_options(const struct options *o, struct gate_options *ret, char **state_path,
                       struct err *err);
/* Prints the error on standard error and returns EXIT_USAGE. */
int front_usage_error(const struct err *err);

#endif
