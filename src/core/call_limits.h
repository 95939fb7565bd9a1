/* What a verdict limits of one call, and whether that can be kept where the call runs. */
#ifndef SANDGATE_CORE_CALL_LIMITS_H
#define SANDGATE_CORE_CALL_LIMITS_H

#include "core/call.h"

#define CALL_RULE_MAX 160

/* What runtime.timeoutSecs and runtime.memoryMb allow every call, in milliseconds and bytes; 0: they are not set. */
int64_t call_ceiling_ms(const struct config *config);
int64_t call_ceiling_memory(const struct config *config);

/* The name of the rule that limits it: `policy.resourceLimits.run_command.maxMemory`. */
void call_limit_rule(const struct call *call, const char *limit, char out[CALL_RULE_MAX]);

/* The denial of a call whose limit cannot be kept; `why` ends the sentence. Returns -1. */
int call_limit_denied(const struct call *call, const char *limit, const char *why, struct err *err);
/* Refuses limits that nobody could keep: of memory, or below one core, where calls share a process. */
int call_limits_check(const struct call *call, struct err *err);

/* The lower of a usual limit and a verdict's, which is 0 where there is none. */
static inline int64_t call_limit_lower(int64_t usual, int64_t verdict)
{
    return verdict > 0 && (usual <= 0 || verdict < usual) ? verdict : usual;
}

#endif
