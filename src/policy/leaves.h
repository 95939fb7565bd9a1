/* Leaves: programs that start no others. A command that a rule approves for its programs, all of them leaves, runs with
 * the right to start these and nothing else (cell/leaves.h), so that a line that was misread still runs nothing. */
#ifndef SANDGATE_POLICY_LEAVES_H
#define SANDGATE_POLICY_LEAVES_H

#include "core/verdict.h"
#include "policy/condition.h"

/* For a rule that approves a call: limits the verdict to the command's programs, if the rule's condition (NULL: none) is
 * about programs and all that the command runs are leaves. False: it is not limited. */
bool leaves_limit(const struct condition *condition, struct facts *facts, struct verdict *verdict);

#endif
