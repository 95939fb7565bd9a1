/* For people: whether the denial of a program holds however it is started (policy/exec_denied.h), and for which files. */
#ifndef SANDGATE_GATE_EXPLAIN_EXEC_H
#define SANDGATE_GATE_EXPLAIN_EXEC_H

#include "core/call.h"
#include "policy/judge.h"

/* One step for each program that the rule which denied the call names, and for each of the tool's own lists that the
 * command names. The machine's files are looked at. */
void explain_exec(const struct policy *policy, const struct call *call, policy_step_fn step,
                  void *arg);

#endif
