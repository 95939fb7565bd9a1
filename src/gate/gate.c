#include "gate/gate.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/epoll_full.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/reserve.h"
#include "gate/gate_parts.h"
#include "gate/manifests.h"
#include "gate/sandbox.h"
#include "gate/setting_warnings.h"
#include "gate/state.h"

#define LOOP_FDS 4
#define GATE_RESERVE ((size_t)2 << 20)

static void on_child(uv_signal_t *handle, int signum)
{
    (void)handle;
    (void)signum;
    cell_reap();
}

/* No core file, no debugger: this process holds keys and decides. */
static void harden(void)
{
    struct rlimit files;
    struct rlimit core;
    /* One byte: with none, a kernel that pipes cores to a program would still do it. */
    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = core.rlim_max = core.rlim_max > 0;
        setrlimit(RLIMIT_CORE, &core);
    }
    /* Each command under way has three pipes, and control groups have files. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
#ifndef SANDGATE_SANITIZED
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

/* Buffers of a megabyte come and go with each large answer: fetching fresh pages for them took a third
 * of the time of a 1 MB read. Memory beyond this is given back. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

#define TOOL_ENV_MAX (64u << 10)

static void warn(void *arg, const char *message)
{
    (void)arg;
    log_warning("%s", message);
}

static int use_redact_names(const struct config *config, struct err *err)
{
    const struct str *names = NULL;
    size_t n = 0;
    if (!config_list(config, "audit.redact", &names, &n))
        n = 0;
    if (redact_use_names(names, n))
        return 0;
    return err_field(err, "audit.redact",
                     "audit.redact may have %d names of letters and digits, each of less than %d",
                     REDACT_NAMES_MAX, REDACT_NAME_MAX);
}

static int open_audit(struct gate *gate, struct err *err)
{
    const char *sync = config_text(gate->config, "audit.sync");
    struct audit_options options = {
        .sync = strcmp(sync, "always") == 0  ? AUDIT_SYNC_ALWAYS
                : strcmp(sync, "batch") == 0 ? AUDIT_SYNC_BATCH
                                             : AUDIT_SYNC_NONE,
        .batch_ms = (unsigned)config_int(gate->config, "audit.batchMs"),
        .max_bytes = (uint64_t)config_int(gate->config, "audit.maxBytes"),
        .max_files = (unsigned)config_int(gate->config, "audit.maxFiles"),
        .anchor = {gate->anchor, gate->anchor_path, gate->anchor_home},
        .anchor_ms = (unsigned)config_int(gate->config, "audit.anchorMs"),
        .warn = warn,
        .db = keeper_db(gate->keeper),
    };
    if (audit_open(&gate->audit, &gate->loop, gate->state_fd, &options, err) < 0)
        return -1;
    gate->record.audit = gate->audit;
    gate->record.sync = options.sync;
    gate->record.keeper = gate->keeper;
    keeper_use_audit(gate->keeper, gate->audit);
    return 0;
}

/* A rule that cannot be meant is told of like all else that is wrong with the operator's file. */
static int name_file(const struct gate_options *o, struct err *err)
{
    const char *file = o->config_file ? o->config_file : getenv("SANDGATE_CONFIG");
    if (strcmp(err->reason, "rule_cannot_be_kept") == 0) {
        const struct err why = *err;
        snprintf(err->message, sizeof err->message, "%.180s: %.320s", file ? file : "config.json",
                 why.message);
    }
    return -1;
}

static int open_keeper(struct gate *gate, const struct gate_options *o, struct err *err)
{
    struct keeper_options options = {
        .loop = &gate->loop,
        .state_fd = gate->state_fd,
        .config = gate->config,
        .session = gate->session,
        .own_hand = o->own_hand,
        .once = o->once,
        .mcp = o->mcp,
        .stats = gate->record.stats,
        .durable = strcmp(config_text(gate->config, "audit.sync"), "always") == 0,
    };
    if (keeper_new(&gate->keeper, &options, err) < 0)
        return name_file(o, err);
    gate->pipeline.policy = keeper_hook(gate->keeper);
    return 0;
}

/* Without it no cell that died would be heard of. */
static int watch_children(struct gate *gate, struct err *err)
{
    int r = uv_signal_init(&gate->loop, &gate->child_signal);
    if (r == 0) {
        gate->child_signal.data = gate;
        r = uv_signal_start(&gate->child_signal, on_child, SIGCHLD);
    }
    if (r < 0)
        return err_set(err, err_code_for(-r, ERR_INTERNAL), "watching for processes that end: %s",
                       uv_strerror(r));
    uv_unref((uv_handle_t *)&gate->child_signal);
    return 0;
}

static void wire(struct gate *gate)
{
    struct pipeline *p = &gate->pipeline;
    pipeline_init(p, &gate->loop);
    p->timeout_ms = (uint64_t)config_int(gate->config, "runtime.timeoutSecs") * 1000;
    p->recorder = record_recorder(&gate->record);
    p->runners = session_runners;
    p->flush = cell_flush;
}

/* libuv ends the process where there is no descriptor for its pipe of signals. */
static int start_loop(uv_loop_t *loop)
{
    return fd_has_room(LOOP_FDS) ? uv_loop_init(loop) : UV_EMFILE;
}

int gate_open(struct gate *gate, const struct gate_options *options, struct err *err)
{
    *gate = (struct gate){
        .dialect = options->dialect, .agent = options->agent, .options = *options, .state_fd = -1};
    harden();
    keep_freed_memory();
    reserve_make(GATE_RESERVE);
    signal(SIGPIPE, SIG_IGN);
    cell_prepare();
    gate->config = config_new();
    int r = state_load_config(gate->config, options->config_file, err);
    if (r == 0)
        r = extra_apply(options->extra, gate->config, err);
    if (r == 0)
        setting_warnings_tools(gate->config);
    if (r == 0)
        r = use_redact_names(gate->config, err);
    if (r == 0)
        r = manifests_load_with(gate->config, options->tool_parent, options->tool_name,
                                &gate->manifests, err);
    buf_init(&gate->excludes, STATE_EXCLUDES_MAX);
    buf_init(&gate->tool_env, TOOL_ENV_MAX);
    if (r == 0)
        r = state_read_excludes(gate->config, &gate->excludes, err);
    if (r == 0)
        r = state_open(&gate->state_fd, err);
    if (r == 0)
        r = sandbox_require(gate->config, gate->state_fd, err);
    if (r == 0)
        epoll_full_use();
    int looped = r == 0 ? start_loop(&gate->loop) : 0;
    if (looped < 0)
        r = err_set(err, err_code_for(-looped, ERR_INTERNAL), "starting the event loop: %s",
                    uv_strerror(looped));
    if (r < 0) {
        cell_unprepare();
        manifests_free(gate->manifests);
        config_free(gate->config);
        buf_done(&gate->excludes);
        fd_closep(&gate->state_fd);
        return -1;
    }
    gate->loop_open = true;
    record_init(&gate->record, NULL, AUDIT_SYNC_NONE);
    gate->record.stats = stats_new();
    wire(gate);
    r = watch_children(gate, err);
    if (r == 0)
        r = gate_open_own_session(gate, err);
    if (r == 0) {
        /* The cell starts while state and log are opened and the first call is read. */
        session_warm_up(gate->session);
        r = open_keeper(gate, options, err);
    }
    if (r == 0)
        r = open_audit(gate, err);
    if (r < 0)
        gate_close(gate);
    return r;
}

void gate_close(struct gate *gate)
{
    if (!gate->loop_open)
        return;
    keeper_free(gate->keeper);
    gate->keeper = NULL;
    gate_free_sessions(gate);
    cell_unprepare();
    pipeline_done(&gate->pipeline);
    if (gate->child_signal.data)
        uv_close((uv_handle_t *)&gate->child_signal, NULL);
    stats_free(TAKE_PTR(gate->record.stats));
    record_done(&gate->record);
    audit_close(gate->audit);
    uv_run(&gate->loop, UV_RUN_DEFAULT);
    uv_loop_close(&gate->loop);
    cell_reap();
    fd_closep(&gate->state_fd);
    buf_done(&gate->excludes);
    buf_done(&gate->tool_env);
    free((void *)(uintptr_t)gate->anchor);
    free(gate->anchor_path);
    free(gate->anchor_home);
    manifests_free(TAKE_PTR(gate->manifests));
    config_free(gate->config);
    gate->loop_open = false;
}

struct call *gate_call_new(struct gate *gate, struct session *session)
{
    struct call *call = call_new();
    call->dialect = gate->dialect;
    call->agent = gate->agent;
    call->workplace = session_workplace(session);
    return call;
}
