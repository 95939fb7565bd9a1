/* The two halves of propose_rule. */
#ifndef SANDGATE_POLICY_PROPOSE_H
#define SANDGATE_POLICY_PROPOSE_H

#include "base/json_out.h"
#include "policy/facts.h"

/* Writes the members of a condition on the command. False: nothing was written, there is none. */
bool propose_command(struct facts *facts, struct json_out *j);

#endif
