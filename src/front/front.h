/* The program's commands. Each takes what stands behind its name and returns the exit status. */
#ifndef SANDGATE_FRONT_FRONT_H
#define SANDGATE_FRONT_FRONT_H

#include "front/options.h"
#include "gate/gate.h"
#include "session/named.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_TOOL_ERROR = 1,
    EXIT_USAGE = 2,
    EXIT_DENIED = 3,
    EXIT_NOT_APPROVED = 4,
};

int front_call(int argc, char *const *argv);
int front_stdio(int argc, char *const *argv);
int front_mcp(int argc, char *const *argv);
int front_run(int argc, char *const *argv);
int front_tool(int argc, char *const *argv);
int front_tools(int argc, char *const *argv);
int front_session(int argc, char *const *argv);
int front_approvals(int argc, char *const *argv);
int front_approve(int argc, char *const *argv);
int front_deny(int argc, char *const *argv);
int front_quarantine(int argc, char *const *argv);
int front_audit(int argc, char *const *argv);
int front_stats(int argc, char *const *argv);
int front_doctor(int argc, char *const *argv);
int front_policy(int argc, char *const *argv);
int front_config(int argc, char *const *argv);
int front_setup(int argc, char *const *argv);
int front_completion(int argc, char *const *argv);

/* Turns the options into what a gate needs; `state_path` (free it) is where a run's @state is. */
int front_gate_options(const struct options *o, struct gate_options *ret, char **state_path,
                       struct err *err);
/* Finds --session and takes it or reaches its owner, as forward_reach does. */
int front_take_session(const struct options *o, bool once, struct named *ret, int *ret_owner,
                       struct err *err);
/* The session's folder takes the place of --workspace or --project. */
void front_use_session(struct gate_options *go, const struct named *named);
/* A call that never got a gate, to be answered with this error; the tool's name may be NULL. Free it. */
struct call *front_failed_call(const struct dialect *dialect, const char *tool,
                               const struct err *err);
/* How `call` exits after this answer. */
int front_status_of(const struct call *call);
/* Whoever started this process wants it to ignore the signal, as nohup(1) does. Asked before a handler is set. */
bool front_ignores(int signal);
/* Prints the error on standard error and returns EXIT_USAGE. */
int front_usage_error(const struct err *err);

/* On standard output. Where that is a terminal, what would do more than draw on it is left out (base/terminal.h). */
int front_put(struct str text);
/* From here on front_put adds to this; NULL: it prints again. */
void front_put_into(struct buf *instead);
/* For a write to standard output that was not made with front_put: front_end says why it failed. */
void front_output_failed(int error);
/* The exit status of a subcommand that ended with `status`: an error where not all of its output was written. */
int front_end(int status);
/* One answer on standard output, with a line break. A string, which some dialects answer with, is printed
 * as the text it stands for. */
int front_print(struct str answer);

#endif
