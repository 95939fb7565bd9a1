/* The verdict on a call, before anything runs. Denials name the rule. */
#ifndef SANDGATE_POLICY_POLICY_H
#define SANDGATE_POLICY_POLICY_H

#include "core/pipeline.h"

struct policy_hook policy_hook(void);

#endif
