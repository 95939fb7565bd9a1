/* What the rules about protected and secret files will do to a call's paths. */
#ifndef SANDGATE_GATE_EXPLAIN_FILES_H
#define SANDGATE_GATE_EXPLAIN_FILES_H

#include "core/call.h"
#include "policy/judge.h"

/* Told step by step, with the names as the call writes them: a link that leads elsewhere is not followed. -1 with the error
 * that the call would end with: it would be refused. */
int explain_files(const struct call *call, const struct policy_call *pc, policy_step_fn step, void *arg,
                  struct err *err);

#endif
