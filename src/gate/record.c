#include "gate/record.h"

#include "base/mem.h"
#include "base/str.h"
#include "core/logged.h"
#include "gate/record_command.h"

#define ANSWER_MAX (64u << 10)
#define NAME_MAX_LOGGED 256
/* Of a record, which has room for more: what does not fit is counted. */
#define VIOLATIONS_BYTES ((size_t)128 << 10)

void record_init(struct record *r, struct audit *audit, enum audit_sync sync)
{
    *r = (struct record){.audit = audit, .sync = sync};
    execution_init(&r->execution);
}

void record_done(struct record *r)
{
    execution_done(&r->execution);
}

/* Callers name tools as they like, at any length. */
static void write_tool(const struct call *call, const char *key, struct json_out *j)
{
    if (call->tool) {
        jo_kown(j, key, call->tool->name);
        return;
    }
    const char *name = call->name ? call->name : "";
    jo_key(j, key);
    logged_name(j, (struct str){name, strlen(name)}, NAME_MAX_LOGGED);
}

static void write_who(const struct call *call, struct json_out *j)
{
    if (call->id)
        jo_ktext(j, "id", call->id);
    write_tool(call, "tool", j);
    jo_kown(j, "dialect", call->dialect->name);
    if (call->agent)
        jo_ktext(j, "agent", call->agent);
    if (call->workplace->session_id[0])
        jo_ktext(j, "session", call->workplace->session_id);
}

static bool bears_name(const struct arg *arg, struct str name)
{
    return str_is(name, arg->name) || (arg->alias && str_is(name, arg->alias));
}

static const struct arg *find_in(const struct arg *args, size_t n, struct str name,
                                 const struct arg *found)
{
    for (size_t i = 0; i < n; i++) {
        if (bears_name(&args[i], name) && (!found || args[i].flags & ARG_CONTENT))
            found = &args[i];
    }
    return found;
}

/* What a name means in the tools that the dialect has: a misspelt tool's content is content. Fields of a list's items may
 * stand beside it. */
static const struct arg *find_argument(void *self, struct str name)
{
    const struct call *call = self;
    const struct arg *found = NULL;
    for (const struct tool *t = NULL; (t = registry_next(call->dialect->id, t));) {
        found = find_in(t->args.args, t->args.count, name, found);
        for (size_t i = 0; i < t->args.count; i++)
            found = find_in(t->args.args[i].items, t->args.args[i].n_items, name, found);
    }
    return found;
}

/* `without`: the uses of arguments that stand elsewhere in the record. */
static void write_record_input(const struct call *call, unsigned without, struct json_out *j)
{
    if (call->tool)
        arg_redact(&call->tool->args, call->arguments, without, j);
    else
        arg_redact_unknown(call->arguments, find_argument, (void *)(uintptr_t)call, j);
}

/* By whose leave it runs. */
static void write_leave(const struct call *call, struct json_out *j)
{
    if (call->verdict.rule[0])
        jo_ktext(j, "rule", call->verdict.rule);
    if (call->approval_id[0])
        jo_ktext(j, "approval", call->approval_id);
    if (call->approved) {
        jo_ktext(j, "approvedBy", call->approved_by);
        jo_kint(j, "waitedMs", call->waited_ms);
    }
    if (call_may_write_git(call)) {
        jo_key(j, "grants");
        jo_open(j, '[');
        jo_text(j, "git");
        jo_close(j, ']');
    }
    if (call->note) {
        jo_key(j, "note");
        jo_raw(j, (struct str){call->note, strlen(call->note)});
    }
}

static void write_real_path(const struct call *call, const char *key, size_t root, struct str named,
                            struct str real, struct json_out *j)
{
    FREE_AT_END char *path = call_real_path(call, root, named, real);
    if (path)
        jo_ktext(j, key, path);
}

/* The files that its paths led to, where links or `..` were on the way. */
static void write_real_paths(const struct call *call, const struct op_real *real,
                             struct json_out *j)
{
    write_real_path(call, "real", call->path.root, call_path_text(call), real->path, j);
    if (call->op->paths == OP_PATHS_TWO)
        write_real_path(call, "realTo", (size_t)call->request.two_paths.to_root,
                        call->request.two_paths.to, real->to, j);
}

/* What was asked for. */
static void write_asked(const struct call *call, struct json_out *j)
{
    write_who(call, j);
    write_leave(call, j);
    bool command = record_command(call, j);
    if (call->op)
        write_real_paths(call, &(struct op_real){str_of(call->pin.real), str_of(call->pin.real_to)},
                         j);
    jo_key(j, "input");
    write_record_input(call, command ? RECORD_COMMAND_USES : 0, j);
}

static void intent(void *self, const struct call *call)
{
    struct record *r = self;
    struct json_out *j = audit_begin(r->audit, "call.intent", call->uid);
    write_asked(call, j);
    audit_end(r->audit);
}

/* The answer with contents left out. */
static void write_output(struct call *call, struct json_out *j)
{
    BUF_AT_END struct buf answer = BUF_INIT(ANSWER_MAX);
    struct json_out redacted = {.out = &answer, .redact = true};
    struct err err = call->err;
    bool failed = call->failed;
    call_write_answer(call, &redacted);
    call->failed = failed;
    call->err = err;
    jo_raw(j, buf_str(&answer));
}

/* {ts,kind,toolCallId,toolName,agentId,input,output,durationMs}: the run's own log. */
static void add_execution_line(struct record *r, struct call *call)
{
    char ts[CLOCK_TEXT_MAX];
    struct json_out j = {.out = execution_begin(&r->execution, call->ran), .hide = true};
    clock_format_utc(clock_unix_ms(), ts);
    jo_open(&j, '{');
    jo_kown(&j, "ts", ts);
    jo_kown(&j, "kind", "tool.exec");
    jo_ktext(&j, "toolCallId", call->id ? call->id : call->uid);
    write_tool(call, "toolName", &j);
    jo_ktext(&j, "agentId", call->agent);
    jo_key(&j, "input");
    write_record_input(call, 0, &j);
    jo_key(&j, "output");
    write_output(call, &j);
    jo_kint(&j, "durationMs", call_duration_ms(call));
    jo_close(&j, '}');
    execution_end(&r->execution);
}

/* Of those that are not named, how many there are of each kind. */
static void write_more_violations(const int64_t more[COMMAND_VIOLATION_KINDS], struct json_out *j)
{
    bool any = false;
    for (size_t i = 0; i < COMMAND_VIOLATION_KINDS; i++) {
        const char *kind = command_violation_kinds[i];
        if (!more[i])
            continue;
        if (!any) {
            jo_key(j, "violationsMore");
            jo_open(j, '{');
        }
        any = true;
        jo_kint(j, *kind ? kind : "call", more[i]);
    }
    if (any)
        jo_close(j, '}');
}

/* What its command was refused, and what it made that programs of the user would obey. */
static void write_record_violations(const struct call *call, struct json_out *j)
{
    const struct command_violations *all = call->command ? &call->command->violations : NULL;
    int64_t more[COMMAND_VIOLATION_KINDS];
    if (!all || all->count == 0)
        return;
    memcpy(more, all->more, sizeof more);
    BUF_AT_END struct buf list = BUF_INIT(2 * VIOLATIONS_BYTES);
    struct json_out l = {.out = &list, .hide = true};
    jo_open(&l, '[');
    for (size_t i = 0; i < all->count; i++) {
        if (list.len < VIOLATIONS_BYTES)
            jo_text(&l, all->list[i].what);
        else
            more[all->list[i].rank] += all->list[i].count;
    }
    jo_close(&l, ']');
    jo_key(j, "violations");
    jo_raw(j, buf_str(&list));
    write_more_violations(more, j);
}

static void outcome(void *self, struct call *call)
{
    struct record *r = self;
    /* A call that was refused before its intent was written has this one record only. */
    bool refused = call->state < CALL_RECORDED;
    struct json_out *j = audit_begin(r->audit, refused ? "call.refused" : "call.outcome",
                                     call->uid);
    if (refused)
        write_asked(call, j);
    jo_kbool(j, "ok", !call->failed);
    if (call->failed) {
        jo_kown(j, "code", err_row(call->err.code)->name);
        jo_ktext(j, "message", call->err.message);
        if (call->err.reason[0])
            jo_ktext(j, "reason", call->err.reason);
    } else if (call->op) {
        jo_kint(j, "bytes",
                (int64_t)(call->op->writes ? call->request_body.n : call_body_bytes(call)));
    }
    if (!refused && !call->failed && call->op && call->op->real != OP_REAL_NOT)
        write_real_paths(call, &call->reply.real, j);
    if (!refused && tool_runs_programs(call->tool))
        record_end(call, j);
    write_record_violations(call, j);
    jo_kown(j, "tier", call_tier(call));
    jo_kint(j, "durationMs", call_duration_ms(call));
    audit_end(r->audit);
    if (r->execution.fd >= 0)
        add_execution_line(r, call);
    stats_call(r->stats, call);
    if (r->keeper)
        keeper_after(r->keeper, call);
}

static int flush_record(void *self, struct err *err)
{
    struct record *r = self;
    if (audit_flush(r->audit, err) < 0)
        return -1;
    return execution_flush(&r->execution, err);
}

static void wait_durable(void *self, void (*done)(void *arg, int status), void *arg)
{
    struct record *r = self;
    audit_wait_synced(r->audit, done, arg);
}

struct recorder record_recorder(struct record *r)
{
    return (struct recorder){intent, outcome, flush_record, wait_durable, r};
}
