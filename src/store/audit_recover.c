#include "store/audit_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"

#define TAIL_BYTES 4096
#define BLOCK_BYTES (64u << 10)
/* By which the part looked at grows: what was read in vain is then a small share of the whole. */
#define SPAN_FACTOR 8
#define OPEN_CALLS_MAX 65536
#define OPEN_BYTES_MAX (4u << 20)
/* Escaped six-fold at worst, and what stands around the ids: cannot be exceeded. */
#define MISSING_BYTES_MAX (6 * OPEN_BYTES_MAX + 1024 * (OPEN_CALLS_MAX + 1))
#define GATE_MAX 64

struct open_call {
    struct open_call *prev;
    struct open_call *next;
    struct str id;
    struct str tool;
    char text[];
};

/* What the file's last gate left. Calls stand in a balanced tree because clients choose their ids,
 * which could make a hash table slow, and in a list because their order is worth keeping. */
struct leftover {
    char gate[GATE_MAX]; /* empty when the damage took it */
    int64_t seq;
    bool delimited; /* a gate's start or stop was seen: what stands before it is settled */
    bool stopped;   /* nothing at all behind a `gate.stop` */
    void *tree;
    struct open_call *first;
    struct open_call *last;
    size_t calls;
    size_t bytes;
    int64_t not_followed;
};

/* --- open calls */

static int compare_ids(const void *a, const void *b)
{
    const struct str *x = &((const struct open_call *)a)->id;
    const struct str *y = &((const struct open_call *)b)->id;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->n ? memcmp(x->p, y->p, x->n) : 0;
}

static struct open_call *open_call_new(struct str id, struct str tool)
{
    struct open_call *call = mem_zero(sizeof *call + id.n + tool.n);
    memcpy(call->text, id.p, id.n);
    if (tool.n)
        memcpy(call->text + id.n, tool.p, tool.n);
    call->id = (struct str){call->text, id.n};
    call->tool = (struct str){call->text + id.n, tool.n};
    return call;
}

static void call_begins(struct leftover *left, struct str id, struct str tool)
{
    struct open_call probe = {.id = id};
    if (tfind(&probe, &left->tree, compare_ids))
        return;
    if (left->calls >= OPEN_CALLS_MAX || id.n + tool.n > OPEN_BYTES_MAX - left->bytes) {
        left->not_followed++;
        return;
    }
    struct open_call *call = open_call_new(id, tool);
    if (!tsearch(call, &left->tree, compare_ids))
        abort();
    call->prev = left->last;
    *(left->last ? &left->last->next : &left->first) = call;
    left->last = call;
    left->calls++;
    left->bytes += id.n + tool.n;
}

static void forget_call(struct leftover *left, struct open_call *call)
{
    tdelete(call, &left->tree, compare_ids);
    *(call->prev ? &call->prev->next : &left->first) = call->next;
    *(call->next ? &call->next->prev : &left->last) = call->prev;
    left->calls--;
    left->bytes -= call->id.n + call->tool.n;
    free(call);
}

static void call_ends(struct leftover *left, struct str id)
{
    struct open_call probe = {.id = id};
    struct open_call **found = tfind(&probe, &left->tree, compare_ids);
    if (found)
        forget_call(left, *found);
}

static void leftover_done(struct leftover *left)
{
    while (left->first)
        forget_call(left, left->first);
    *left = (struct leftover){.gate = ""};
}

/* --- reading */

static void note_gate(struct leftover *left, struct str gate)
{
    if (!gate.p || gate.n >= sizeof left->gate || memchr(gate.p, '\0', gate.n))
        return;
    memcpy(left->gate, gate.p, gate.n);
    left->gate[gate.n] = '\0';
}

static void note_record(struct leftover *left, yyjson_val *record)
{
    struct str kind = json_str(yyjson_obj_get(record, "kind"));
    struct str call = json_str(yyjson_obj_get(record, "call"));
    if (str_is(kind, "gate.start") || str_is(kind, "gate.stop")) {
        leftover_done(left);
        left->delimited = true;
        left->stopped = str_is(kind, "gate.stop");
        if (left->stopped)
            return;
    }
    note_gate(left, json_str(yyjson_obj_get(record, "gate")));
    uint64_t seq = yyjson_get_uint(yyjson_obj_get(record, "seq"));
    if (seq > (uint64_t)left->seq && seq < INT64_MAX / 2)
        left->seq = (int64_t)seq;
    if (call.p && str_is(kind, "call.intent"))
        call_begins(left, call, json_str(yyjson_obj_get(record, "tool")));
    else if (call.p && (str_is(kind, "call.outcome") || str_is(kind, "call.interrupted")))
        call_ends(left, call);
}

static void note_line(struct leftover *left, const char *line, size_t n)
{
    left->stopped = false;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(line, n, AUDIT_RECORD_MAX, JSON_STRICT, &doc, NULL) == 0)
        note_record(left, yyjson_doc_get_root(doc));
}

struct lines {
    char *bytes;
    size_t held;
    bool skipping; /* until the next newline */
};

static void note_lines(struct leftover *left, struct lines *lines)
{
    const char *at = lines->bytes;
    const char *end = at + lines->held;
    const char *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        if (!lines->skipping)
            note_line(left, at, (size_t)(newline - at));
        lines->skipping = false;
        at = newline + 1;
    }
    lines->held = (size_t)(end - at);
    if (lines->skipping || lines->held > AUDIT_RECORD_MAX) {
        lines->skipping = true;
        lines->held = 0;
        left->stopped = false;
    }
    memmove(lines->bytes, at, lines->held);
}

static ssize_t read_at(int fd, void *bytes, size_t n, off_t at)
{
    ssize_t got;
    do
        got = pread(fd, bytes, n, at);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

static int read_from(int fd, off_t from, struct leftover *left)
{
    FREE_AT_END char *bytes = mem_grow(NULL, AUDIT_RECORD_MAX + BLOCK_BYTES, 1);
    struct lines lines = {.bytes = bytes, .skipping = from > 0};
    for (;;) {
        ssize_t got = read_at(fd, bytes + lines.held, BLOCK_BYTES, from);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        from += got;
        lines.held += (size_t)got;
        note_lines(left, &lines);
    }
    /* A record may have lost nothing but its newline, and it is about to get one. */
    if (lines.held > 0)
        note_line(left, bytes, lines.held);
    return 0;
}

/* Files hold many gates and only the last one matters: looks for its start in ever larger parts. */
static int read_last_gate(int fd, off_t size, struct leftover *left)
{
    for (off_t span = BLOCK_BYTES;; span *= SPAN_FACTOR) {
        off_t from = size > span ? size - span : 0;
        leftover_done(left);
        int r = read_from(fd, from, left);
        if (r < 0 || left->delimited || from == 0)
            return r;
    }
}

/* True when the last line is a whole `gate.stop`, or there is no line. */
static bool ended_cleanly(int fd, off_t size)
{
    char tail[TAIL_BYTES];
    off_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    ssize_t n = size > 0 ? read_at(fd, tail, (size_t)(size - from), from) : 0;
    if (n < 2 || tail[n - 1] != '\n')
        return size == 0;
    const char *before = memrchr(tail, '\n', (size_t)n - 1);
    if (!before && from > 0)
        return false;
    const char *line = before ? before + 1 : tail;
    JSON_AT_END yyjson_doc *doc = NULL;
    json_parse(line, (size_t)(tail + n - 1 - line), TAIL_BYTES, JSON_STRICT, &doc, NULL);
    return str_is(json_str(yyjson_obj_get(yyjson_doc_get_root(doc), "kind")), "gate.stop");
}

/* --- appending */

static void begin_record(struct json_out *j, struct leftover *left, const char *ts,
                         const char *kind)
{
    j->comma = false;
    audit_write_head(j, ts, ++left->seq, kind, left->gate[0] ? left->gate : NULL);
}

static void end_record(struct json_out *j)
{
    jo_close(j, '}');
    buf_add_char(j->out, '\n');
}

static void write_missing(struct json_out *j, struct leftover *left, const char *recovered_by)
{
    char ts[CLOCK_TEXT_MAX];
    clock_format_utc(clock_unix_ms(), ts);
    for (const struct open_call *call = left->first; call; call = call->next) {
        begin_record(j, left, ts, "call.interrupted");
        jo_kstr(j, "call", call->id);
        jo_kstr(j, "tool", call->tool);
        jo_ktext(j, "code", err_row(ERR_INTERRUPTED)->name);
        end_record(j);
    }
    begin_record(j, left, ts, "gate.stop");
    jo_ktext(j, "recovered_by", recovered_by);
    if (left->not_followed)
        jo_kint(j, "calls_not_followed", left->not_followed);
    end_record(j);
}

static int recover(int fd, off_t size, const char *recovered_by)
{
    char last;
    CLEANUP(leftover_done) struct leftover left = {.gate = ""};
    if (read_at(fd, &last, 1, size - 1) != 1)
        return -EIO;
    int r = read_last_gate(fd, size, &left);
    if (r < 0)
        return r;
    BUF_AT_END struct buf out = BUF_INIT(MISSING_BYTES_MAX);
    struct json_out j = {.out = &out};
    if (last != '\n')
        buf_add_char(&out, '\n');
    if (!left.stopped)
        write_missing(&j, &left, recovered_by);
    return out.failed ? -ENOMEM : fd_write_all(fd, out.data, out.len);
}

int audit_recover(int fd, const char *recovered_by, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return audit_io_error(err, errno);
    if (ended_cleanly(fd, st.st_size))
        return 0;
    int r = recover(fd, st.st_size, recovered_by);
    return r < 0 ? audit_io_error(err, -r) : 0;
}

void audit_write_head(struct json_out *j, const char *ts, int64_t seq, const char *kind,
                      const char *gate)
{
    jo_open(j, '{');
    jo_ktext(j, "ts", ts);
    jo_kint(j, "seq", seq);
    jo_ktext(j, "kind", kind);
    jo_ktext(j, "gate", gate);
}

int audit_io_error(struct err *err, int code)
{
    if (code == ENOSPC || code == EDQUOT)
        return err_set(err, ERR_DISK_FULL,
                       "no room for the audit log (%s): calls are refused until there is space in "
                       "the state folder again",
                       strerror(code));
    return err_set(err, ERR_INTERNAL,
                   "the audit log cannot be used (%s): check the disk and the permissions of "
                   "`audit` in the state folder, then start again",
                   strerror(code));
}

/* --- slots */

static int open_slot(int dir, const char *name, int create)
{
    /* O_NONBLOCK: a FIFO in its place must not hang the gate. */
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    return openat(dir, name, flags | create, 0600);
}

static int slot_refused(const char *name, struct err *err)
{
    return err_set(
        err, ERR_INTERNAL,
        "`audit/%s` in the state folder is not a plain file of one name (a symbolic link, "
        "a hard link or a special file stands there): move it away",
        name);
}

enum audit_slot audit_slot_lock(int dir, const char *name, int create, int *ret_fd, struct err *err)
{
    struct stat st;
    struct stat named;
    FD_AT_END int fd = open_slot(dir, name, create);
    if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
        return slot_refused(name, err);
    if (fd < 0)
        return audit_io_error(err, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? AUDIT_SLOT_BUSY : audit_io_error(err, errno);
    if (fstat(fd, &st) < 0)
        return audit_io_error(err, errno);
    if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_ino != st.st_ino ||
        named.st_dev != st.st_dev)
        return AUDIT_SLOT_MOVED;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return slot_refused(name, err);
    *ret_fd = TAKE_FD(fd);
    return AUDIT_SLOT_OURS;
}

/* Asked without the lock, so that a gate which is just starting does not find its slot taken. */
static bool needs_recovery(int dir, const char *name)
{
    struct stat st;
    FD_AT_END int fd = open_slot(dir, name, 0);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !ended_cleanly(fd, st.st_size);
}

static void recover_slot(int dir, const char *name, const char *recovered_by)
{
    /* What fails is tried again at the next start; only our own file must work. */
    struct err ignored;
    FD_AT_END int fd = -1;
    if (needs_recovery(dir, name) &&
        audit_slot_lock(dir, name, 0, &fd, &ignored) == AUDIT_SLOT_OURS)
        audit_recover(fd, recovered_by, &ignored);
}

void audit_recover_others(int dir, const char *own, const char *recovered_by)
{
    DIR *folder = fdopendir(dir);
    if (!folder) {
        close(dir);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        bool slot = strspn(name, "0123456789") == 3 && strcmp(name + 3, ".jsonl") == 0;
        if (slot && strcmp(name, own) != 0)
            recover_slot(dir, name, recovered_by);
    }
    closedir(folder);
}
