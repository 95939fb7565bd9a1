/* How a call of an open cell begins. */
#include <string.h>

#include "core/call_limits.h"
#include "session/commands.h"
#include "session/look.h"
#include "session/preview.h"
#include "session/scan.h"
#include "session/session_parts.h"

void session_run_command(struct session *s, struct call *call)
{
    struct err err;
    if (cut_off_mark(s, &err) < 0)
        session_end_waiting(s, call, &err);
    else
        commands_start(s->commands, s->host.cell, call);
}

static void refuse_without_mounts(struct session *s, struct call *call)
{
    struct err err;
    err_set(&err, ERR_SANDBOX_UNAVAILABLE,
            "%s (the sandbox is `landlock` here: file tools run in it, and no command does; "
            "`sandgate doctor` tells more)",
            s->weaker);
    session_end_waiting(s, call, &err);
}

static void start_session_command(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    if (s->spec.tier != TIER_FULL) {
        refuse_without_mounts(s, call);
        return;
    }
    int look = cut_off_look(s, &err);
    if (look < 0) {
        session_end_waiting(s, call, &err);
        return;
    }
    if (look == 0) {
        host_wait(&s->host, call);
        return;
    }
    if (scan_is_old(s, call)) {
        host_wait(&s->host, call);
        scan_start(s);
        return;
    }
    scan_beside(s, call);
    /* In their order: those that could not begin are tried first. */
    if (!git_turn_take(s, call) && !delayed_behind(s->delayed, call))
        session_run_command(s, call);
}

/* Its work was done when it was prepared: the session only saw to it that the workspace's own settings were known by
 * then. */
static void start_builtin(struct call *call)
{
    pipeline_finish(call, NULL);
}

static void start_operation(struct call *call)
{
    struct session *s = session_of_call(call);
    preview_apply_pin(call);
    if (call->op->writes)
        call->request.writing.tag = (struct str){s->cell_tag, strlen(s->cell_tag)};
    session_send(s, call);
}

static void make_command_ready(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    commands_prepare(s->commands, s->host.cell, call, s->operator_config, &err);
}

static void start_role(struct call *call)
{
    role_cells_start(session_of_call(call)->roles, call);
}

static void cancel_role(struct call *call)
{
    role_cells_cancel(session_of_call(call)->roles, call);
}

/* The settings that it waits for come from the session's own cell. */
static void kill_role(struct call *call)
{
    if (call->state == CALL_UNSETTLED)
        session_kill(call);
    else
        role_cells_kill(session_of_call(call)->roles, call);
}

static void leave_late(struct call *call)
{
    (void)call;
}

#define IN_SESSION                                                                                 \
    .start = session_run, .cancel = session_stop, .kill = session_kill, .late = session_late,      \
    .expect = session_expect

const struct runner session_runners[RUN_COUNT] = {
    [RUN_BUILTIN] = {IN_SESSION, .begin = start_builtin},
    [RUN_WORKER] = {IN_SESSION, .begin = start_operation},
    [RUN_SESSION] = {.start = session_run,
                     .begin = look_begin,
                     .cancel = look_cancel,
                     .kill = look_kill,
                     .late = look_late,
                     .expect = session_expect},
    [RUN_ROLE] = {.start = start_role,
                  .cancel = cancel_role,
                  .kill = kill_role,
                  .late = leave_late,
                  .expect = session_expect},
    [RUN_COMMAND] = {IN_SESSION, .begin = start_session_command, .make_ready = make_command_ready},
};

void session_make_ready(struct call *call)
{
    const struct runner *runner = &session_runners[call->tool->runner];
    if (runner->make_ready)
        runner->make_ready(call);
}

void session_start(struct session *s, struct call *call)
{
    struct err err;
    if (call_limits_check(call, &err) < 0)
        session_end_waiting(s, call, &err);
    else
        session_runners[call->tool->runner].begin(call);
}
