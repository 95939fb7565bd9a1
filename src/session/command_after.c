#include "session/command_after.h"

#include "base/clock.h"
#include "base/hash.h"
#include "core/command.h"
#include "core/pipeline.h"
#include "session/git_turn.h"
#include "session/quarantine.h"
#include "session/scan.h"
#include "session/session_parts.h"

/* True: it goes on later, by command_after_go_on. */
typedef bool (*after_step)(struct call *call);

/* As much as a scan may find, and some that it does not look for. */
#define FRESH_MAX (OP_BODY_MAX + ((size_t)32 << 20))
/* Of those that do not fit, the worker is asked again. */
#define STAYS_MAX ((size_t)HASH_BYTES << 20)
/* What was written to git directories may be several gigabytes. */
#define AFTER_NS 600000000000u

static const after_step steps[] = {git_turn_after, scan_after_command, quarantine_after,
                                   quarantine_again, NULL};

void command_after_go_on(struct call *call)
{
    struct command_after *after = &call->command->after;
    while (steps[after->step]) {
        if (steps[after->step++](call))
            return;
    }
    struct err err = after->err;
    struct session *s = session_of_call(call);
    s->commands_ending--;
    cut_off_settle(s);
    pipeline_finish(call, after->failed ? &err : NULL);
}

bool command_after_cancel(struct call *call)
{
    if (!call->command || !call->command->after.begun)
        return false;
    call->kill_ns = clock_mono_ns() + AFTER_NS;
    return true;
}

void command_after(struct call *call, const struct err *err)
{
    struct command_after *after = &call->command->after;
    *after = (struct command_after){.begun = true,
                                    .failed = err != NULL,
                                    .fresh = BUF_INIT(FRESH_MAX),
                                    .fresh_git = BUF_INIT(FRESH_MAX),
                                    .closed = BUF_INIT(FRESH_MAX),
                                    .suspects = BUF_INIT(FRESH_MAX),
                                    .others = BUF_INIT(FRESH_MAX),
                                    .stays = BUF_INIT(STAYS_MAX)};
    if (err)
        after->err = *err;
    session_of_call(call)->commands_ending++;
    /* The command has ended in its time; what follows is not cut off for being late. */
    call->deadline_ns = UINT64_MAX;
    if (call->kill_ns)
        call->kill_ns = clock_mono_ns() + AFTER_NS;
    command_after_go_on(call);
}
