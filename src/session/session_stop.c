#include "base/clock.h"
#include "base/processor.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/session_parts.h"

/* For its first process to kill the command, for the launcher to kill that, and then for the cell's end. On a busy machine
 * a command's death takes long, and the cell's is that of all others, too. */
#define KILL_GRACE_NS 3000000000u

void session_cancel(struct session *s, const struct call *call)
{
    struct frame frame = {.type = FRAME_CANCEL, .token = call->token};
    struct err err;
    if (!s->cell || !call->token)
        return;
    cell_send(s->cell, &frame, -1, &err);
    /* The thread that is at the call reads no frames. */
    cell_help(s->cell);
}

void session_stop(void *self, struct call *call)
{
    (void)self;
    struct session *s = (struct session *)call->workplace;
    if (command_after_cancel(call))
        return;
    if (delayed_remove(s->delayed, call)) {
        command_after(call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    if (s->state == OPEN && session_unwait(s, call)) {
        session_end_waiting(s, call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    /* A call that still waits for the cell is ended by `kill` at the latest. */
    if (!commands_stop(s->commands, s->cell, call) && !git_turn_cancel(s, call))
        session_cancel(s, call);
}

void session_kill(void *self, struct call *call)
{
    (void)self;
    struct session *s = (struct session *)call->workplace;
    if (commands_kill(s->commands, s->cell, call)) {
        /* Only its own processes; the cell goes with them if that does not help. */
        call->kill_ns = clock_mono_ns() + KILL_GRACE_NS;
        return;
    }
    if (s->cell)
        cell_kill(s->cell, "a call did not stop in time");
}

void session_late(void *self, struct call *call)
{
    (void)self;
    struct session *s = (struct session *)call->workplace;
    processor_part();
    if (s->cell && flight_count(&s->flight) > 1)
        cell_help(s->cell);
}
