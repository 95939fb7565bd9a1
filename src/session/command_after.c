#include "session/command_after.h"

#include "core/command.h"
#include "core/pipeline.h"
#include "session/scan.h"

/* True: it goes on later, by command_after_go_on. */
typedef bool (*after_step)(struct call *call);

static const after_step steps[] = {scan_after_command, NULL};

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
    *after = (struct command_after){.failed = err != NULL};
    if (err)
        after->err = *err;
    command_after_go_on(call);
}
