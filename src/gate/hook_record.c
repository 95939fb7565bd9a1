#include "gate/hooks_parts.h"
#include "gate/record_command.h"
#include "store/audit.h"

/* In the order of the log a hook that is asked stands before the call that it is asked about. */
void hook_record(const struct job *job, const struct call *call, const struct hook_answer *answer)
{
    static const char *const decisions[] = {
        [VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask", [VERDICT_DENY] = "deny"};
    struct audit *audit = job->owner->audit;
    if (!audit)
        return;
    struct json_out *j = audit_begin(audit, "hook.ran", job->uid);
    jo_kown(j, "event", job->after ? "tool:after" : "tool:before");
    jo_ktext(j, "hook", answer->rule);
    record_hook_command(call, j);
    record_end(call, j);
    if (!job->after)
        jo_kown(j, "decision", decisions[answer->kind]);
    if (answer->reason[0])
        jo_ktext(j, "reason", answer->reason);
    jo_kint(j, "durationMs", call_duration_ms(call));
    audit_end(audit);
    audit_write_out(audit);
}
