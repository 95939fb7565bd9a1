/* How a command of an open cell begins. */
#include "session/commands.h"
#include "session/scan.h"
#include "session/session_parts.h"

void session_run_command(struct session *s, struct call *call)
{
    struct err err;
    if (cut_off_mark(s, &err) < 0)
        session_end_waiting(s, call, &err);
    else
        commands_start(s->commands, s->cell, call);
}

void session_start_command(struct session *s, struct call *call)
{
    struct err err;
    int look = cut_off_look(s, &err);
    if (look < 0) {
        session_end_waiting(s, call, &err);
        return;
    }
    if (look == 0) {
        session_wait(s, call);
        return;
    }
    if (scan_is_old(s, call)) {
        session_wait(s, call);
        scan_start(s);
        return;
    }
    scan_beside(s, call);
    /* In their order: those that could not begin are tried first. */
    if (!git_turn_take(s, call) && !delayed_behind(s->delayed, call))
        session_run_command(s, call);
}
