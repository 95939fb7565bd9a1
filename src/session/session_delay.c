#include <string.h>

#include "cell/order.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/session_parts.h"

static void start_delayed(void *arg, struct call *call)
{
    session_start(arg, call);
}

static bool commands_may_help(void *arg)
{
    struct session *s = arg;
    return commands_hold_any(s->commands);
}

const struct delayed_events session_delayed_events = {start_delayed, commands_may_help};

/* What the kernel counts for the limit is of this cell: where no other command runs in it, nothing will change. */
static bool is_hopeless(const struct session *s, const struct err *why)
{
    return strcmp(why->reason, RAN_PROCESS_LIMIT) == 0 && !commands_hold_any(s->commands);
}

/* How often a command is prepared anew because somebody moves what is guarded meanwhile. */
#define GUARD_TRIES 16

/* Covered is what a scan found, where it found it: there has to be another scan. */
static void scan_anew(struct session *s, struct call *call)
{
    struct err err;
    s->scanned_ns = 0;
    /* The launcher did not cover all of it. */
    s->scan_unsure = true;
    if (call->command->guard_tries++ < GUARD_TRIES) {
        session_go_on(s, call);
        return;
    }
    err_set(&err, ERR_SESSION_BUSY,
            "the command was not started: secret or protected files, or folders around them, were "
            "moved each time it was prepared; try again when nothing moves them");
    err_reason(&err, RAN_GUARDS_MOVED);
    command_after(call, &err);
}

static void command_delayed(void *arg, struct call *call, const struct err *why)
{
    struct session *s = arg;
    struct err err;
    if (strcmp(why->reason, RAN_GUARDS_MOVED) == 0) {
        scan_anew(s, call);
        return;
    }
    if (is_hopeless(s, why)) {
        err_set(&err, ERR_PROCESS_LIMIT,
                "the command was not started (%.100s): its sandbox has more processes than "
                "commands.processes leaves room for; raise commands.processes",
                why->message);
        err_reason(&err, RAN_PROCESS_LIMIT);
        command_after(call, &err);
        return;
    }
    delayed_add(s->delayed, call, why);
}

static void command_freed(void *arg)
{
    struct session *s = arg;
    delayed_wake(s->delayed);
}

const struct commands_events session_command_events = {command_delayed, command_freed};
