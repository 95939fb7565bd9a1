#include "base/clock.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/session_parts.h"

/* For its first process to kill the command, for the launcher to kill that, and then for the cell's end. On a busy machine
 * a command's death takes long, and the cell's is that of all others, too. */
#define KILL_GRACE_NS 3000000000u

void session_stop(struct call *call)
{
    struct session *s = session_of_call(call);
    if (command_after_cancel(call))
        return;
    if (delayed_remove(s->delayed, call)) {
        command_after(call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    if (s->host.state == HOST_OPEN &&
        (host_unwait(&s->host, call) || host_unsend(&s->host, call))) {
        session_end_waiting(s, call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    /* A call that still waits for the cell is ended by `kill` at the latest. */
    if (!commands_stop(s->commands, s->host.cell, call) && !git_turn_cancel(s, call))
        host_cancel(&s->host, call);
}

void session_kill(struct call *call)
{
    struct session *s = session_of_call(call);
    if (commands_kill(s->commands, s->host.cell, call)) {
        /* Only its own processes; the cell goes with them if that does not help. */
        call->kill_ns = clock_mono_ns() + KILL_GRACE_NS;
        return;
    }
    host_kill(&s->host, "a call did not stop in time");
}

void session_late(struct call *call)
{
    host_help(&session_of_call(call)->host);
}
