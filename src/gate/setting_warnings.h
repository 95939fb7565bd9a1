/* Settings that are taken but have no effect are told. */
#ifndef SANDGATE_GATE_SETTING_WARNINGS_H
#define SANDGATE_GATE_SETTING_WARNINGS_H

#include "policy/judge.h"

/* Of tools that this version does not have. */
void setting_warnings_tools(const struct config *config);
/* Rules. */
void setting_warnings_rules(const struct policy *policy);

#endif
