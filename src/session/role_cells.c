#include "session/role_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/call_limits.h"
#include "core/pipeline.h"
#include "session/modules.h"

/* How long compiling a module may take; a call's own time begins behind it. */
#define COMPILE_NS 120000000000u
#define COMPILE_AGAIN 2
/* The program ends a tool that takes too long. This much later its cell is ended. */
#define TOOL_GRACE_NS 2000000000u

struct role_cell {
    struct role_cell *next; /* of one that a tool has for itself */
    struct role_cells *cells;
    const struct tool *tool;
    struct host host;
    struct cell_spec spec;
    bool loaded; /* the module of its tool was sent to it */
};

struct role_cells {
    uv_loop_t *loop;
    const struct workplace *at;
    role_program_fn find;
    struct role_cell cell[OP_ROLES];
    struct role_cell *of_tools;
};

static void role_cell_init(struct role_cell *cell, struct role_cells *cells);

static struct role_cell *role_of_call(struct role_cells *cells, const struct call *call)
{
    if (!role_programs[call->op->role].one_a_tool)
        return &cells->cell[call->op->role];
    struct role_cell *cell = cells->of_tools;
    while (cell && cell->tool != call->tool)
        cell = cell->next;
    if (cell)
        return cell;
    cell = mem_zero(sizeof *cell);
    cell->tool = call->tool;
    cell->next = cells->of_tools;
    cells->of_tools = cell;
    role_cell_init(cell, cells);
    return cell;
}

/* One of our own has no pipeline. */
static void finish_role_call(struct call *call, const struct err *err)
{
    if (call->pipeline) {
        pipeline_finish(call, err);
        return;
    }
    call->failed = err != NULL;
    if (err)
        call->err = *err;
    call->answer(call);
}

/* --- modules of tools */

/* The first call of a cell takes it along, as a part of its body. False: it is not compiled yet. */
static bool bring_module(struct call *call)
{
    struct buf body = BUF_INIT(OP_COMPILED_MAX + call->decoded.len);
    if (!modules_compiled((const void *)call->tool, &body)) {
        buf_done(&body);
        return false;
    }
    call->request.run_tool.module = (int64_t)body.len;
    buf_add(&body, call->decoded.data, call->decoded.len);
    buf_done(&call->packed);
    call->packed = body;
    call->request_body = buf_str(&call->packed);
    return !body.failed;
}

/* A tool's calls are done in turn, each in its own time. */
static void send_role_call(struct role_cell *cell, struct call *call)
{
    if (cell->tool) {
        uint64_t each = (uint64_t)call->request.run_tool.timeout_ms * 1000000u + TOOL_GRACE_NS;
        call->deadline_ns = clock_mono_ns() + each * (1 + flight_count(&cell->host.flight));
        if (!cell->loaded && !call->request.run_tool.module && !bring_module(call)) {
            pipeline_finish(call, &(struct err){.code = ERR_SESSION_BUSY,
                                                .message = "the tool's module is gone; try again"});
            return;
        }
        cell->loaded = true;
    }
    host_send(&cell->host, call, call->reply_max);
}

static void start_compiled(struct role_cells *cells, struct call *call);
static struct call *compile_job(struct role_cells *cells, struct call *call);

/* The compiler is ended by what one module does to it, or with a call that is cancelled; others were there by chance. */
static bool may_compile_again(struct call *call, const struct err *err)
{
    return err->code == ERR_INTERRUPTED && !call->kill_ns && call->restarts++ < COMPILE_AGAIN;
}

/* By the next process: this one's calls are being taken from it. */
static void compile_again(struct role_cells *cells, struct call *call)
{
    struct call *job = compile_job(cells, call);
    if (job)
        host_wait(&role_of_call(cells, job)->host, job);
}

static void on_compiled(struct call *job)
{
    struct call *call = job->front;
    struct role_cells *cells = job->own;
    struct err err;
    call->compiling = NULL;
    if (job->failed && may_compile_again(call, &job->err))
        compile_again(cells, call);
    else if (job->failed)
        pipeline_finish(call, &job->err);
    else if (call->kill_ns)
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else if (modules_keep((const void *)call->tool, buf_str(&job->reply_body), &err) < 0)
        pipeline_finish(call, &err);
    else
        start_compiled(cells, call);
    call_free(job);
}

/* --- what the host of a role's cell tells */

/* Nothing has to come before calls. */
static void role_opening(void *owner)
{
    struct role_cell *cell = owner;
    host_open(&cell->host);
    host_go_on(&cell->host);
}

static void role_go_on(void *owner, struct call *call)
{
    struct role_cell *cell = owner;
    if (call->kill_ns)
        finish_role_call(call, &(struct err){.code = ERR_CANCELLED});
    else
        send_role_call(cell, call);
}

static void role_give_up(void *owner, struct call *call, const struct err *err)
{
    (void)owner;
    finish_role_call(call, err);
}

/* A call may have several operations, one after the other. */
static void role_replied(void *owner, struct call *call, const struct err *err)
{
    struct role_cell *cell = owner;
    struct err why;
    if (!call->pipeline) {
        finish_role_call(call, err);
        return;
    }
    int more = !err && call->tool->next ? call->tool->next(call, &why) : 0;
    if (more > 0 && call->kill_ns)
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else if (more > 0)
        role_cells_start(cell->cells, call);
    else
        pipeline_finish(call, more < 0 ? &why : err);
}

static void role_came_back(void *owner, struct call *call)
{
    (void)owner;
    (void)call;
}

static void role_command_ended(void *owner, const struct frame *frame)
{
    (void)owner;
    (void)frame;
}

static void role_gone(void *owner)
{
    struct role_cell *cell = owner;
    cell->loaded = false;
}

static void role_lost(void *owner, struct call *call)
{
    (void)owner;
    (void)call;
}

static bool role_died(void *owner, const struct err *err)
{
    (void)owner;
    (void)err;
    return false;
}

/* Without namespaces a program of its own would see the machine. */
static bool role_weaken(void *owner)
{
    (void)owner;
    return false;
}

static void role_no_cell(void *owner, const struct err *err)
{
    (void)owner;
    (void)err;
}

static const struct host_owner role_owner = {
    .opening = role_opening,
    .go_on = role_go_on,
    .give_up = role_give_up,
    .replied = role_replied,
    .came_back = role_came_back,
    .command_ended = role_command_ended,
    .gone = role_gone,
    .lost = role_lost,
    .died = role_died,
    .weaken = role_weaken,
    .no_cell = role_no_cell,
};

/* --- their specification */

static int add_role_files(const struct role_file *file, const struct config *config,
                          struct cell_spec *spec, struct err *err)
{
    for (; file && file->inside; file++) {
        const char *host = file->setting ? config_text(config, file->setting) : file->host;
        struct stat st;
        bool there = host && stat(host, &st) == 0 && S_ISREG(st.st_mode);
        if (host && file->setting && !there)
            return err_set(err, ERR_SANDBOX_UNAVAILABLE, "%s: %.200s is not there", file->setting,
                           host);
        if (there && spec_add_file(spec, host, file->inside, err) < 0)
            return -1;
    }
    return 0;
}

/* Anew for each cell: files of the machine come and go. */
static int make_role_spec(struct role_cell *cell, const struct role_program *role, struct err *err)
{
    char path[PATH_MAX];
    struct cell_spec *spec = &cell->spec;
    spec_done(spec);
    if (cell->cells->find(cell->cells->at, role->name, path, err) < 0)
        return -1;
    *spec = (struct cell_spec){.umask = 077,
                               .threads = 1,
                               .network = role->network,
                               .program = mem_dup(path),
                               .tier = TIER_FULL};
    spec_choose_owner(spec, geteuid(), getegid(),
                      (uint32_t)config_int(cell->cells->at->config, "cell.uid"));
    return add_role_files(role->files, cell->cells->at->config, spec, err);
}

static int begin_role(struct role_cell *cell, enum op_role role, struct err *err)
{
    if (cell->host.state != HOST_EMPTY)
        return 0;
    return make_role_spec(cell, &role_programs[role], err) < 0 ? -1 : host_begin(&cell->host, err);
}

/* --- calls */

static void start_compiled(struct role_cells *cells, struct call *call)
{
    struct role_cell *cell = role_of_call(cells, call);
    struct err err;
    if (begin_role(cell, call->op->role, &err) < 0)
        finish_role_call(call, &err);
    else if (cell->host.state == HOST_OPEN)
        send_role_call(cell, call);
    else
        host_wait(&cell->host, call);
}

/* In a process of its own, and outside of the call's time. NULL: the call is over. */
static struct call *compile_job(struct role_cells *cells, struct call *call)
{
    struct err err;
    struct call *job = call_new();
    buf_init(&job->packed, MODULE_BYTES_MAX + 1);
    if (modules_source((const void *)call->tool, &job->packed, &err) < 0) {
        call_free(job);
        pipeline_finish(call, &err);
        return NULL;
    }
    job->tool = call->tool;
    job->workplace = call->workplace;
    job->op = &op_table[OP_COMPILE];
    job->request.compile.max_bytes = (int64_t)OP_COMPILED_MAX;
    job->request_body = buf_str(&job->packed);
    job->reply_max = OP_COMPILED_MAX;
    job->answer = on_compiled;
    job->awaited = true;
    job->front = call;
    job->own = cells;
    call->compiling = job;
    call->deadline_ns = clock_mono_ns() + COMPILE_NS;
    return job;
}

static void compile_first(struct role_cells *cells, struct call *call)
{
    struct call *job = compile_job(cells, call);
    if (!job)
        return;
    log_warning("compiling the tool %s, once for this machine", call->tool->name);
    start_compiled(cells, job);
}

void role_cells_start(struct role_cells *cells, struct call *call)
{
    struct err err;
    bool of_tool = role_programs[call->op->role].one_a_tool;
    if (call_limits_check(call, &err) < 0)
        pipeline_finish(call, &err);
    else if (of_tool && !role_of_call(cells, call)->loaded && !bring_module(call))
        compile_first(cells, call);
    else
        start_compiled(cells, call);
}

void role_cells_cancel(struct role_cells *cells, struct call *call)
{
    if (call->compiling) {
        host_kill(&role_of_call(cells, call->compiling)->host, "the compiler is not needed");
        return;
    }
    struct host *host = &role_of_call(cells, call)->host;
    if (host_unwait(host, call) || host_unsend(host, call))
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else
        host_cancel(host, call);
}

void role_cells_kill(struct role_cells *cells, struct call *call)
{
    if (call->compiling)
        call = call->compiling;
    host_kill(&role_of_call(cells, call)->host, "a call did not stop in time");
}

pid_t role_cells_group(const struct role_cells *cells, enum op_role role)
{
    const struct host *host = &cells->cell[role].host;
    return host->cell ? cell_group(host->cell) : 0;
}

static void role_cell_init(struct role_cell *cell, struct role_cells *cells)
{
    cell->cells = cells;
    host_init(&cell->host, cells->loop, &cell->spec, &role_owner, cell);
    cell->host.once = true; /* replies come without a shelf */
}

struct role_cells *role_cells_new(uv_loop_t *loop, const struct workplace *at, role_program_fn find)
{
    struct role_cells *cells = mem_zero(sizeof *cells);
    *cells = (struct role_cells){.loop = loop, .at = at, .find = find};
    for (size_t i = 0; i < OP_ROLES; i++)
        role_cell_init(&cells->cell[i], cells);
    return cells;
}

static void role_cell_done(struct role_cell *cell)
{
    host_done(&cell->host);
    spec_done(&cell->spec);
}

void role_cells_free(struct role_cells *cells)
{
    for (size_t i = 0; cells && i < OP_ROLES; i++)
        role_cell_done(&cells->cell[i]);
    for (struct role_cell *cell = cells ? cells->of_tools : NULL, *next; cell; cell = next) {
        next = cell->next;
        role_cell_done(cell);
        free(cell);
    }
    free(cells);
}
