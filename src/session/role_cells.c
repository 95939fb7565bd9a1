#include "session/role_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/call_limits.h"
#include "core/pipeline.h"

struct role_cell {
    struct role_cells *cells;
    struct host host;
    struct cell_spec spec;
    bool known; /* the specification is made */
};

struct role_cells {
    const struct workplace *at;
    role_program_fn find;
    struct role_cell cell[OP_ROLES];
};

static struct role_cell *role_of_call(struct role_cells *cells, const struct call *call)
{
    return &cells->cell[call->op->role];
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
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else
        host_send(&cell->host, call, call->reply_max);
}

static void role_give_up(void *owner, struct call *call, const struct err *err)
{
    (void)owner;
    pipeline_finish(call, err);
}

/* A call may have several operations, one after the other. */
static void role_replied(void *owner, struct call *call, const struct err *err)
{
    struct role_cell *cell = owner;
    struct err why;
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
    (void)owner;
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

void role_cells_start(struct role_cells *cells, struct call *call)
{
    struct role_cell *cell = role_of_call(cells, call);
    struct err err;
    if (call_limits_check(call, &err) < 0 || begin_role(cell, call->op->role, &err) < 0)
        pipeline_finish(call, &err);
    else if (cell->host.state == HOST_OPEN)
        host_send(&cell->host, call, call->reply_max);
    else
        host_wait(&cell->host, call);
}

void role_cells_cancel(struct role_cells *cells, struct call *call)
{
    struct host *host = &role_of_call(cells, call)->host;
    if (host_unwait(host, call) || host_unsend(host, call))
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
    else
        host_cancel(host, call);
}

void role_cells_kill(struct role_cells *cells, struct call *call)
{
    host_kill(&role_of_call(cells, call)->host, "a call did not stop in time");
}

pid_t role_cells_group(const struct role_cells *cells, enum op_role role)
{
    const struct host *host = &cells->cell[role].host;
    return host->cell ? cell_group(host->cell) : 0;
}

struct role_cells *role_cells_new(uv_loop_t *loop, const struct workplace *at, role_program_fn find)
{
    struct role_cells *cells = mem_zero(sizeof *cells);
    *cells = (struct role_cells){.at = at, .find = find};
    for (size_t i = 0; i < OP_ROLES; i++) {
        struct role_cell *cell = &cells->cell[i];
        cell->cells = cells;
        host_init(&cell->host, loop, &cell->spec, &role_owner, cell);
        cell->host.once = true; /* replies come without a shelf */
    }
    return cells;
}

void role_cells_free(struct role_cells *cells)
{
    for (size_t i = 0; cells && i < OP_ROLES; i++) {
        host_done(&cells->cell[i].host);
        spec_done(&cells->cell[i].spec);
    }
    free(cells);
}
