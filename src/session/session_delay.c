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

static void command_delayed(void *arg, struct call *call, const struct err *why)
{
    struct session *s = arg;
    delayed_add(s->delayed, call, why);
}

static void command_freed(void *arg)
{
    struct session *s = arg;
    delayed_wake(s->delayed);
}

const struct commands_events session_command_events = {command_delayed, command_freed};
