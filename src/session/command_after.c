#include "session/command_after.h"

#include "core/command.h"
#include "core/pipeline.h"
#include "session/git_turn.h"
#include "session/quarantine.h"
#include "session/scan.h"

/* True: it goes on later, by command_after_go_on. */
typedef bool (*after_step)(struct call *call);

/* As many as a scan may find, with paths of an ordinary length. */
#define FRESH_MAX ((size_t)16 << 20)

static const after_step steps[] = {git_turn_after, scan_after_command, quarantine_after,
                                   quarantine_scan, NULL};

void command_after_go_on(struct call *call)
{
    struct command_after *after = &call->command->after;
    while (steps[after->step]) {
        if (steps[after->step++](call))
            return;
    }
    struct err err = after->err;
    pipeline_finish(call, after->failed ? &err : NULL);
}

void command_after(struct call *call, const struct err *err)
{
    struct command_after *after = &call->command->after;
    *after = (struct command_after){
        .failed = err != NULL, .fresh = BUF_INIT(FRESH_MAX), .fresh_git = BUF_INIT(FRESH_MAX)};
    if (err)
        after->err = *err;
    command_after_go_on(call);
}
