#include "session/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "cell/limits.h"
#include "core/call_limits.h"
#include "core/command.h"
#include "session/command_after.h"
#include "session/command_denied.h"
#include "session/command_end.h"
#include "session/command_groups.h"
#include "session/command_not_run.h"
#include "session/command_order.h"
#include "session/command_pipes.h"
#include "session/command_terminal.h"
#include "session/git_turn.h"

#define READ_BYTES (64u << 10)
#define READ_BURST 8              /* of one stream, before others get their turn */
#define PIPE_BYTES_MAX (1u << 20) /* what a user's pipe may hold */

enum { STATUS = STREAMS, HANDLES };
/* The first asks its first process to do it, the second is for that. */
#define KILLS 2

struct running {
    struct running *next;
    struct commands *owner;
    struct call *call; /* NULL: finished, its handles are closing */
    uint64_t token;
    uv_poll_t polls[HANDLES];
    int fds[HANDLES];
    unsigned open_handles;
    struct command_terminal *terminal; /* NULL: it has none */
    struct buf account;                /* as much of it as has come */
    struct limit_group *group;         /* NULL: there are none to be had */
    struct spill *spill;               /* NULL: nobody could read it */
    bool stopped;                      /* somebody asked for its end */
    unsigned kills;                    /* FRAME_KILLs that it was sent */
    bool begun;                        /* what it gives back may be enough for another */
};

struct commands {
    uv_loop_t *loop;
    const struct commands_events *events;
    void *arg;
    struct running *all;
    uint64_t next_token;
    struct command_groups groups;
    struct command_denied denied;
    bool once; /* there will be no other command */
};

struct commands *commands_new(uv_loop_t *loop, const char *tag, bool once,
                              const struct commands_events *events, void *arg)
{
    struct commands *c = mem_zero(sizeof *c);
    c->loop = loop;
    c->events = events;
    c->arg = arg;
    c->once = once;
    command_groups_init(&c->groups, tag);
    return c;
}

void commands_free(struct commands *c)
{
    if (!c)
        return;
    /* Those whose handles are still closing free themselves. */
    for (struct running *r = c->all; r; r = r->next)
        r->owner = NULL;
    command_groups_done(&c->groups);
    command_denied_forget(&c->denied);
    free(c);
}

static struct running *find_running(const struct commands *c, const struct call *call)
{
    for (struct running *r = c->all; r; r = r->next) {
        if (r->call == call)
            return r;
    }
    return NULL;
}

bool commands_any(const struct commands *c)
{
    for (const struct running *r = c->all; r; r = r->next) {
        if (r->call)
            return true;
    }
    return false;
}

static void remove_running(struct running *r)
{
    for (struct running **at = r->owner ? &r->owner->all : NULL; at && *at; at = &(*at)->next) {
        if (*at == r) {
            *at = r->next;
            return;
        }
    }
}

static void free_running(struct running *r)
{
    struct commands *c = r->owner;
    for (size_t i = 0; i < HANDLES; i++)
        fd_closep(&r->fds[i]);
    remove_running(r);
    buf_done(&r->account);
    bool begun = c && r->begun;
    free(r);
    if (begun)
        c->events->freed(c->arg);
}

static void on_pipe_closed(uv_handle_t *handle)
{
    struct running *r = handle->data;
    if (--r->open_handles == 0)
        free_running(r);
}

/* A handle that was made has its `data`. */
static void close_handles(struct running *r)
{
    if (r->open_handles == 0)
        free_running(r);
    else
        for (size_t i = 0; i < HANDLES; i++)
            if (r->polls[i].data)
                uv_close((uv_handle_t *)&r->polls[i], on_pipe_closed);
}

/* What it held besides its handles. */
static void release_running(struct running *r, struct command *command)
{
    if (r->owner && r->owner->groups.limits)
        limits_leave(r->owner->groups.limits, TAKE_PTR(r->group));
    command_terminal_free(TAKE_PTR(r->terminal));
    command_fit_output(command);
    if (!r->spill)
        return;
    for (size_t i = 0; i < STREAMS; i++)
        output_end(&command->streams[i]);
    spill_finish(TAKE_PTR(r->spill), command->output_id);
}

static void finish_running(struct running *r, const struct err *err)
{
    struct call *call = TAKE_PTR(r->call);
    release_running(r, call->command);
    close_handles(r);
    command_after(call, err);
}

/* What has come on one stream. False: there is nothing more for now, or ever. */
static bool read_stream(struct running *r, size_t stream)
{
    static char buffer[READ_BYTES];
    struct command *command = r->call->command;
    ssize_t n = read(r->fds[stream], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0) {
        if (n == 0)
            uv_poll_stop(&r->polls[stream]);
        return false;
    }
    struct str bytes = {buffer, (size_t)n};
    if (!command->passed_on)
        output_add(&command->streams[stream], bytes);
    if (r->call->output)
        r->call->output(r->call, stream, bytes);
    return true;
}

static void on_pipe_output(uv_poll_t *handle, int status, int events)
{
    (void)events;
    struct running *r = handle->data;
    size_t stream = (size_t)(handle - r->polls);
    if (status < 0) {
        uv_poll_stop(handle);
        return;
    }
    for (unsigned i = 0; i < READ_BURST && read_stream(r, stream); i++)
        continue;
}

/* All who could write are gone: what is in the pipes is all there will be. Unless a descriptor was handed to
 * another command, so there is an end to it. */
static void drain_pipes(struct running *r)
{
    for (size_t i = 0; i < STREAMS; i++) {
        for (unsigned k = 0; k < PIPE_BYTES_MAX / READ_BYTES && read_stream(r, i); k++)
            continue;
    }
    command_terminal_drain(r->terminal);
}

static const struct err cancelled = {.code = ERR_CANCELLED};

static bool is_run_ended(const struct ran *ran)
{
    return ran->kind == RAN_ENDED || ran->kind == RAN_MEMORY || ran->kind == RAN_PROCESSES ||
           ran->kind == RAN_WRITTEN;
}

/* It has not begun, because something is used up that others will give back. */
static void delay(struct running *r, const struct err *err)
{
    struct commands *c = r->owner;
    struct call *call = TAKE_PTR(r->call);
    release_running(r, call->command);
    command_groups_drop_spare(&c->groups);
    r->begun = false;
    close_handles(r);
    c->events->delayed(c->arg, call, err);
}

static void not_begun(struct running *r, const struct err *err)
{
    r->call->command->begun = false;
    if (err->code == ERR_SESSION_BUSY && !r->stopped)
        delay(r, err);
    else
        finish_running(r, r->stopped ? &cancelled : err);
}

static void take_account(struct running *r, const struct frame *frame)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct ran ran;
    struct err err;
    if (ran_read(frame, &ran, &doc, &err) < 0) {
        finish_running(r, &err);
        return;
    }
    drain_pipes(r);
    if (!is_run_ended(&ran)) {
        command_not_run(r->call, &ran, &err);
        not_begun(r, &err);
        return;
    }
    command_take_end(r->call->command, &ran, r->stopped, r->group);
    bool gone = r->stopped && r->call->cancel_code != ERR_TIMEOUT;
    finish_running(r, gone ? &cancelled : NULL);
}

static void on_status(uv_poll_t *handle, int status, int events)
{
    (void)events;
    struct running *r = handle->data;
    struct frame frame;
    int whole = status < 0 ? -1 : command_read_account(r->fds[STATUS], &r->account, &frame);
    /* Where no more comes and it is not whole, the launcher will tell. */
    if (whole != 0)
        uv_poll_stop(handle);
    if (whole > 0)
        take_account(r, &frame);
}

/* Its first process was killed, and all that it had started. */
static void take_death(struct running *r, const struct command_death *death)
{
    struct err err;
    struct ran ran = {.kind = RAN_ENDED, .status = SIGKILL};
    drain_pipes(r);
    struct limits_seen seen;
    limit_group_read(r->group, &seen);
    bool told = r->kills || seen.oom_kills;
    if (told)
        command_take_end(r->call->command, &ran, r->stopped, r->group);
    command_take_counted(r->call->command, &seen);
    if (told) {
        finish_running(r, !r->kills || r->call->cancel_code == ERR_TIMEOUT ? NULL : &cancelled);
        return;
    }
    err_set(&err, ERR_INTERRUPTED,
            "the command was ended from outside (%.*s); what it had done by then is done",
            (int)death->message.n, death->message.p);
    finish_running(r, &err);
}

static void take_command_end(struct running *r, const struct command_death *death)
{
    struct err err;
    if (!death->busy) {
        take_death(r, death);
        return;
    }
    err_set(&err, ERR_SESSION_BUSY, "%.*s", (int)death->message.n, death->message.p);
    if (str_is(death->message, RAN_GUARDS_MOVED))
        err_reason(&err, RAN_GUARDS_MOVED);
    not_begun(r, &err);
}

void commands_ended(struct commands *c, const struct frame *frame)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct command_death death = command_read_death(frame, &doc);
    for (struct running *r = c->all; r; r = r->next) {
        if (r->token == frame->token && r->call) {
            take_command_end(r, &death);
            return;
        }
    }
}

void commands_cell_died(struct commands *c, const struct err *err)
{
    c->groups.ready_in = NULL;
    command_denied_forget(&c->denied);
    for (struct running *r = c->all, *next; r; r = next) {
        next = r->next;
        if (r->call)
            finish_running(r, err);
    }
}

static bool send_stop_or_kill(struct commands *c, struct cell *cell, struct call *call,
                              enum frame_type type)
{
    struct running *r = find_running(c, call);
    struct err err;
    if (!r || r->kills == KILLS)
        return false;
    r->stopped = true;
    r->kills += type == FRAME_KILL;
    if (cell)
        cell_order(cell, &(struct frame){.type = type, .token = r->token}, NULL, &err);
    return true;
}

bool commands_stop(struct commands *c, struct cell *cell, struct call *call)
{
    return send_stop_or_kill(c, cell, call, FRAME_STOP);
}

bool commands_kill(struct commands *c, struct cell *cell, struct call *call)
{
    return send_stop_or_kill(c, cell, call, FRAME_KILL);
}

/* What is weaker than it would be with control groups. */
static unsigned weaker_limits(const struct running *r, const struct order *order)
{
    const struct config *config = r->call->workplace->config;
    const struct limits *groups = r->group ? r->owner->groups.limits : NULL;
    int64_t cpus = command_limits(config, &r->call->verdict).cpu_millis;
    bool cpus_held = cpus <= 0 || (groups && limits_by_group(groups, LIMIT_CPU));
    return (order->watch_memory ? COMMAND_WEAK_MEMORY : 0u) |
           (order->watch_processes ? COMMAND_WEAK_PROCESSES : 0u) |
           (cpus_held ? 0u : COMMAND_WEAK_CPUS);
}

static int send_order(struct running *r, struct cell *cell, const struct frame_fds *away,
                      struct err *err)
{
    BUF_AT_END struct buf strings = BUF_INIT(FRAME_BODY_MAX);
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct order order;
    struct frame frame;
    if (command_order(r->call, r->group ? r->owner->groups.limits : NULL, &strings, &order, err) <
        0)
        return -1;
    r->call->command->weaker = weaker_limits(r, &order);
    if (order_frame(&order, &head, &frame) < 0)
        return err_set(err, ERR_TOO_LARGE, "the command is too long for one call");
    if (r->call->command->layers.len && git_turn_send(r->call->command, r->token, cell, err) < 0)
        return -1;
    frame.token = r->token;
    return cell_order(cell, &frame, away, err);
}

int commands_prepare(struct commands *c, struct cell *cell, const struct call *call,
                     const struct config *config, struct err *err)
{
    struct limits_want want = command_limits(config, NULL);
    if (command_denied_tell(&c->denied, cell, call, err) < 0)
        return -1;
    return command_groups_prepare(&c->groups, cell, &want, err);
}

static bool wants_share(const struct call *call)
{
    int64_t most = call->verdict.max_cpu_millis;
    return most > 0 && most < (int64_t)processor_count() * 1000;
}

/* A share of the processors is held by control groups or by nobody. */
static int deny_share(const struct call *call, struct err *err)
{
    return call_limit_denied(call, "maxCpu",
                             "control groups cannot be used here. Run Sandgate where they can, as "
                             "a systemd user service for example, or remove the rule",
                             err);
}

int commands_check_cpu(struct commands *c, const struct call *call, struct err *err)
{
    return wants_share(call) && !command_groups_hold_cpu(&c->groups) ? deny_share(call, err) : 0;
}

/* The group of this command may not have been to be had. */
static int check_cpu(const struct running *r, struct err *err)
{
    bool held = r->group && limits_by_group(r->owner->groups.limits, LIMIT_CPU);
    return wants_share(r->call) && !held ? deny_share(r->call, err) : 0;
}

static void take_spill(struct running *r)
{
    struct call *call = r->call;
    if (call->dialect->id != DIALECT_NATIVE || call->command->passed_on)
        return;
    r->spill = spill_open(call->workplace->spills);
    for (enum stream i = 0; i < STREAMS; i++)
        output_spill(&call->command->streams[i], r->spill, i);
}

static int watch_pipes(struct running *r, struct err *err)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < HANDLES; i++) {
        if ((error = uv_poll_init(r->owner->loop, &r->polls[i], r->fds[i])) < 0)
            break;
        r->polls[i].data = r;
        r->open_handles++;
        error = uv_poll_start(&r->polls[i], UV_READABLE, i == STATUS ? on_status : on_pipe_output);
    }
    return error == 0 ? 0
                      : err_set(err, err_code_for(-error, ERR_INTERNAL), "watching a pipe: %s",
                                strerror(-error));
}

static int begin_running(struct running *r, struct cell *cell, struct err *err)
{
    struct commands *c = r->owner;
    struct limits_want want = command_limits(r->call->workplace->config, &r->call->verdict);
    FRAME_FDS_AT_END struct frame_fds away = {0};
    _Static_assert(HANDLES == COMMAND_PIPES, "as many pipes as handles");
    if (command_pipes(r->call, !commands_hold_any(c), r->fds, &away, err) < 0 ||
        command_terminal_new(c->loop, r->call, &away, &r->terminal, err) < 0 ||
        watch_pipes(r, err) < 0 || command_denied_tell(&c->denied, cell, r->call, err) < 0 ||
        command_groups_prepare(&c->groups, cell, &want, err) < 0)
        return -1;
    r->group = command_groups_take(&c->groups);
    if (check_cpu(r, err) == 0 && send_order(r, cell, &away, err) == 0)
        return 0;
    command_groups_put_back(&c->groups, TAKE_PTR(r->group), cell);
    return -1;
}

void commands_start(struct commands *c, struct cell *cell, struct call *call)
{
    struct err err;
    struct running *r = mem_zero(sizeof *r);
    *r = (struct running){.owner = c,
                          .call = call,
                          .token = ++c->next_token,
                          .fds = {-1, -1, -1},
                          .account = BUF_INIT(RAN_BYTES_MAX)};
    r->next = c->all;
    c->all = r;
    take_spill(r);
    if (begin_running(r, cell, &err) < 0) {
        not_begun(r, &err);
        return;
    }
    r->begun = call->command->begun = true;
    /* While it runs. */
    if (!c->once)
        commands_prepare(c, cell, call, call->workplace->config, &err);
}

bool commands_hold_any(const struct commands *c)
{
    for (const struct running *r = c->all; r; r = r->next) {
        if (r->begun)
            return true;
    }
    return false;
}
