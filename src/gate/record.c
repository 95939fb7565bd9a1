#include "gate/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "core/registry.h"

#define LINES_MAX (8u << 20)
#define ANSWER_MAX (64u << 10)
#define NAME_MAX_LOGGED 100
/* Of a record, which has room for more: what does not fit is counted. */
#define VIOLATIONS_BYTES ((size_t)128 << 10)

void record_init(struct record *r, struct audit *audit, enum audit_sync sync)
{
    *r = (struct record){.audit = audit, .execution_fd = -1, .sync = sync};
    buf_init(&r->execution, LINES_MAX);
}

void record_done(struct record *r)
{
    fd_closep(&r->execution_fd);
    buf_done(&r->execution);
}

static int open_plain(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* The folder belongs to whoever owns the run, also when root's gate made it. */
static void give_to_owner(int fd, const struct stat *owner)
{
    if (geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0)
        return; /* root keeps it: still readable by its owner */
}

int record_open_execution(struct record *r, const char *state_mount, struct err *err)
{
    FD_AT_END int mount = open(state_mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat owner;
    struct stat st;
    if (mount < 0 || fstat(mount, &owner) < 0)
        return err_set(err, ERR_NOT_FOUND, "the run's state folder %s: %s", state_mount,
                       strerror(errno));
    bool made = mkdirat(mount, "logs", 0755) == 0;
    FD_AT_END int logs = open_plain(mount, "logs", O_RDONLY | O_DIRECTORY, 0);
    FD_AT_END int fd = -1;
    if (logs >= 0) {
        if (made)
            give_to_owner(logs, &owner);
        fd = open_plain(logs, "execution.jsonl", O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0644);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_INTERNAL, "%s/logs/execution.jsonl: %s", state_mount,
                       errno == ELOOP ? "is or lies behind a symbolic link" : strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return err_set(err, ERR_INTERNAL,
                       "%s/logs/execution.jsonl is not a plain file with one name", state_mount);
    if (st.st_size == 0)
        give_to_owner(fd, &owner);
    r->execution_fd = TAKE_FD(fd);
    return 0;
}

/* Callers name tools as they like, at any length. */
static void write_tool(const struct call *call, const char *key, struct json_out *j)
{
    if (call->tool) {
        jo_kown(j, key, call->tool->name);
        return;
    }
    const char *name = call->name ? call->name : "";
    size_t n = strlen(name);
    jo_kstr(j, key, (struct str){name, n > NAME_MAX_LOGGED ? NAME_MAX_LOGGED : n});
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

/* What a name means in the tools that the dialect has: a misspelt tool's content is content. */
static const struct arg *find_argument(void *self, struct str name)
{
    const struct call *call = self;
    const struct arg *found = NULL;
    for (const struct tool *t = NULL; (t = registry_next(call->dialect->id, t));) {
        for (size_t i = 0; i < t->args.count; i++) {
            const struct arg *arg = &t->args.args[i];
            if (str_is(name, arg->name) && (!found || arg->flags & ARG_CONTENT))
                found = arg;
        }
    }
    return found;
}

static void write_input(const struct call *call, struct json_out *j)
{
    if (call->tool)
        arg_redact(&call->tool->args, call->arguments, j);
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

static void intent(void *self, const struct call *call)
{
    struct record *r = self;
    struct json_out *j = audit_begin(r->audit, "call.intent", call->uid);
    write_who(call, j);
    write_leave(call, j);
    jo_key(j, "input");
    write_input(call, j);
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
    const size_t before = r->execution.len;
    /* Only lines of calls that were done are kept until there is room; the audit log has the others. */
    if (!call->ran && r->full)
        return;
    struct json_out j = {.out = &r->execution, .hide = true};
    clock_format_utc(clock_unix_ms(), ts);
    jo_open(&j, '{');
    jo_kown(&j, "ts", ts);
    jo_kown(&j, "kind", "tool.exec");
    jo_ktext(&j, "toolCallId", call->id ? call->id : call->uid);
    write_tool(call, "toolName", &j);
    jo_ktext(&j, "agentId", call->agent);
    jo_key(&j, "input");
    write_input(call, &j);
    jo_key(&j, "output");
    write_output(call, &j);
    jo_kint(&j, "durationMs", call_duration_ms(call));
    jo_close(&j, '}');
    buf_add_char(&r->execution, '\n');
    if (r->execution.failed) {
        r->execution.len = before;
        r->execution.failed = false;
        r->lost = true;
    }
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
static void write_violations(const struct call *call, struct json_out *j)
{
    const struct command_violations *all = call->command ? &call->command->violations : NULL;
    int64_t more[COMMAND_VIOLATION_KINDS];
    if (!all || all->count == 0)
        return;
    memcpy(more, all->more, sizeof more);
    BUF_AT_END struct buf list = BUF_INIT(2 * VIOLATIONS_BYTES);
    struct json_out l = {.out = &list};
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
    if (refused) {
        write_who(call, j);
        write_leave(call, j);
        jo_key(j, "input");
        write_input(call, j);
    }
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
    write_violations(call, j);
    jo_kown(j, "tier", call_tier(call));
    jo_kint(j, "durationMs", call_duration_ms(call));
    audit_end(r->audit);
    if (r->execution_fd >= 0)
        add_execution_line(r, call);
    stats_call(r->stats, call);
    if (r->keeper)
        keeper_after(r->keeper, call);
}

/* Whether the log ends in the middle of a line: another gate of the run may have died, or had no room. */
static bool ends_torn(int fd)
{
    struct stat st;
    char last;
    return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 &&
           last != '\n';
}

/* Removes `n` bytes, half a line of ours, from the end. Where another gate has written behind them they stay, and
 * its line ended them. */
static void cut_half_line(int fd, size_t n)
{
    struct stat st;
    off_t end = lseek(fd, 0, SEEK_CUR); /* O_APPEND: where our last write ended */
    if (n > 0 && end >= (off_t)n && fstat(fd, &st) == 0 && st.st_size == end &&
        ftruncate(fd, end - (off_t)n) < 0)
        return; /* the next line begins with an end of line then */
}

/* Writes whole lines; those that find no room are kept for the next time. */
static int write_execution(struct record *r)
{
    size_t done = 0;
    int error = ends_torn(r->execution_fd) ? -fd_write_all(r->execution_fd, "\n", 1) : 0;
    while (done < r->execution.len && error == 0) {
        ssize_t n = write(r->execution_fd, r->execution.data + done, r->execution.len - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            error = errno;
    }
    if (error) {
        const char *end = done ? memrchr(r->execution.data, '\n', done) : NULL;
        size_t whole = end ? (size_t)(end - r->execution.data) + 1 : 0;
        cut_half_line(r->execution_fd, done - whole);
        done = whole;
    }
    buf_consume(&r->execution, done);
    if (r->execution.len == 0)
        buf_reset(&r->execution, 64u << 10);
    return -error;
}

/* As long as a line waits for room, no call starts. */
static int flush(void *self, struct err *err)
{
    struct record *r = self;
    if (audit_flush(r->audit, err) < 0)
        return -1;
    int w = r->execution.len > 0 ? write_execution(r) : 0;
    r->full = w < 0;
    if (w < 0)
        return err_set(err, err_is_full(-w) ? ERR_DISK_FULL : ERR_INTERNAL,
                       "the run's log `@state/logs/execution.jsonl` cannot be written (%s): calls "
                       "are refused until it can",
                       strerror(-w));
    if (!r->lost)
        return 0;
    r->lost = false;
    return err_set(err, ERR_INTERNAL,
                   "more lines for the run's log than there was room for: some are lost");
}

static void wait_durable(void *self, void (*done)(void *arg, int status), void *arg)
{
    struct record *r = self;
    audit_wait_synced(r->audit, done, arg);
}

struct recorder record_recorder(struct record *r)
{
    return (struct recorder){intent, outcome, flush, wait_durable, r};
}
