/* Leaves: programs that start no others. A command that a rule approves for its programs, all of them leaves, runs with
 * the right to start these and nothing else (cell/leaves.h), so that a line that was misread still runs nothing. */
#ifndef SANDGATE_POLICY_LEAVES_H
#define SANDGATE_POLICY_LEAVES_H

#include "core/verdict.h"
#include "policy/condition.h"

/* For a rule that approves a call: limits the verdict to the command's programs, if the rule's condition (NULL: none) is
 * about programs and all that the command runs are leaves. False: it is not limited. */
bool leaves_limit(const struct condition *condition, struct facts *facts, struct verdict *verdict);

/* For the same rules: settings that an earlier command left in the session's home do not count for a command that was
 * approved by what it is (its programs, or its text). Programs that run the workspace's code by nature need what is kept
 * in the home, and their settings give nothing that this code does not have. */
void leaves_choose_home(const struct condition *condition, struct facts *facts,
                        struct verdict *verdict);

#endif
