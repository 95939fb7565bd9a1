#include "store/audit_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_calls.h"
#include "store/audit_leftover.h"

#define TAIL_BYTES 4096
/* Escaped six-fold at worst, and what stands around the ids: cannot be exceeded. */
#define MISSING_BYTES_MAX (6 * OPEN_BYTES_MAX + 1024 * (OPEN_CALLS_MAX + 2))

/* The hash of the record that ends there, its newline included. */
static bool hash_before(int fd, off_t end, char ret[HASH_HEX + 1])
{
    char tail[CHAIN_TAIL + 2];
    if (end == 0) {
        memcpy(ret, CHAIN_NONE, HASH_HEX + 1);
        return true;
    }
    off_t from = end - (off_t)sizeof tail;
    if (from < 0 || audit_read_at(fd, tail, sizeof tail, from) != (ssize_t)sizeof tail ||
        tail[sizeof tail - 1] != '\n')
        return false;
    struct str hash = chain_hash_of((struct str){tail, sizeof tail - 1});
    if (hash.p)
        chain_copy(ret, hash);
    return hash.p != NULL;
}

/* How many bytes, their newline included, a recovery found between this record and the one before it. */
static off_t torn_before(struct str body)
{
    const struct str key = STR(",\"torn\":");
    const char *at = memmem(body.p, body.n, key.p, key.n);
    int64_t bytes = 0;
    for (at = at ? at + key.n : NULL; at && *at >= '0' && *at <= '9' && bytes < INT64_MAX / 100;
         at++)
        bytes = 10 * bytes + (*at - '0');
    return at ? (off_t)bytes + 1 : 0;
}

static void copy_last(struct audit_last *ret, const struct chain_record *record)
{
    chain_copy(ret->hash, record->hash);
    memcpy(ret->gate, record->gate.p ? record->gate.p : "", record->gate.n);
    ret->gate[record->gate.n] = '\0';
    ret->at_ms = chain_time_of(record->body);
}

bool audit_ended_cleanly(int fd, off_t size, struct audit_last *ret)
{
    char after[HASH_HEX + 1];
    char tail[TAIL_BYTES];
    off_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    ssize_t n = audit_read_at(fd, tail, (size_t)(size - from), from);
    if (n < 2 || tail[n - 1] != '\n')
        return false;
    const char *before = memrchr(tail, '\n', (size_t)n - 1);
    if (!before)
        return false;
    struct str line = {before + 1, (size_t)(tail + n - 1 - (before + 1))};
    struct chain_record record;
    if (!chain_read(line, &record) || !str_is(record.kind, "gate.stop"))
        return false;
    off_t end = from + (line.p - tail) - torn_before(record.body);
    if (end < 0 || !hash_before(fd, end, after) || !chain_follows(line, after))
        return false;
    copy_last(ret, &record);
    return true;
}

/* The clock may have been set by this much since. */
#define CLOCK_SLACK_MS 2000

bool audit_restarted_since(int64_t at_ms)
{
    struct timespec up;
    clock_gettime(CLOCK_BOOTTIME, &up);
    int64_t started_ms = clock_unix_ms() - ((int64_t)up.tv_sec * 1000 + up.tv_nsec / 1000000);
    return at_ms && at_ms < started_ms - CLOCK_SLACK_MS;
}

void audit_write_unknown(struct json_out *j, int64_t last_ms)
{
    jo_kbool(j, "no_head", true);
    if (audit_restarted_since(last_ms))
        jo_kbool(j, "restarted", true);
}

/* An empty file whose slot has rotated ones was left by a gate that died while it rotated. */
static bool is_new_slot(int dir, const char *slot)
{
    FD_AT_END int rotated = audit_newest_rotated(dir, slot);
    return rotated < 0;
}

/* --- appending */

struct writer {
    struct json_out j;
    struct leftover *left;
    size_t begun;
    char ts[CLOCK_TEXT_MAX];
    const struct audit_torn *torn; /* NULL once it was named */
};

static void begin_record(struct writer *w, const char *kind)
{
    w->begun = w->j.out->len;
    w->j.comma = false;
    audit_write_head(&w->j, w->ts, ++w->left->seq, kind, w->left->gate[0] ? w->left->gate : NULL);
}

static void end_record(struct writer *w)
{
    if (w->torn) {
        jo_kint(&w->j, "torn", w->torn->bytes);
        jo_ktext(&w->j, "torn_sha256", w->torn->sha256);
        w->torn = NULL;
    }
    chain_seal(w->j.out, w->begun, w->left->hash);
}

/* What state.db had of the gate that died. */
struct known {
    const struct head_row *lost; /* a head whose record is not there; or NULL */
    bool unknown;                /* nothing, though every gate is noted before its first record */
    int64_t last_ms;
};

static void write_missing(struct writer *w, const char *by, const struct known *known)
{
    struct leftover *left = w->left;
    if (left->elsewhere) {
        begin_record(w, "log.continued");
        jo_ktext(&w->j, "after", left->hash);
        end_record(w);
    }
    for (const struct open_call *call = left->calls.first; call; call = call->next) {
        begin_record(w, "call.interrupted");
        jo_kstr(&w->j, "call", call->id);
        if (call->tool.n)
            jo_kstr(&w->j, "tool", call->tool);
        jo_ktext(&w->j, "code", err_row(ERR_INTERRUPTED)->name);
        end_record(w);
    }
    begin_record(w, "gate.stop");
    jo_ktext(&w->j, "recovered_by", by);
    if (left->calls.not_followed)
        jo_kint(&w->j, "calls_not_followed", left->calls.not_followed);
    /* state.db knows of a record that is not there: the head stays as it is, and so does what verifying says. */
    if (known->lost)
        jo_kint(&w->j, "missing_seq", known->lost->head.seq);
    if (known->unknown)
        audit_write_unknown(&w->j, known->last_ms);
    end_record(w);
}

static const struct head_row *row_of(const struct head_rows *rows, const char *gate)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (strcmp(rows->rows[i].gate, gate) == 0)
            return &rows->rows[i];
    }
    return NULL;
}

static int complete(int fd, struct leftover *left, const struct audit_recovery *how,
                    const struct known *known)
{
    struct audit_torn torn;
    int r = audit_torn_read(fd, left->valid_end, &torn);
    if (r < 0)
        return r;
    BUF_AT_END struct buf out = BUF_INIT(MISSING_BYTES_MAX);
    struct writer w = {.j = {.out = &out}, .left = left};
    clock_format_utc(clock_unix_ms(), w.ts);
    if (torn.open)
        buf_add_char(&out, '\n');
    /* What is known to be missing is not excused as torn, nor are records that somebody added behind the end of a gate. */
    bool added = left->stopped && torn.records;
    if (torn.bytes >= 0 && !known->lost && !added)
        w.torn = &torn;
    if (!left->stopped || torn.bytes >= 0 || known->unknown)
        write_missing(&w, how->by, known);
    return out.failed ? -ENOMEM : fd_write_all(fd, out.data, out.len);
}

/* The head of the gate that died, and of those before it that its chain covers. */
static int update_head(const char *slot, const struct leftover *left,
                       const struct audit_recovery *how, const struct head_rows *rows,
                       struct err *err)
{
    struct head_note note = {.gate = left->gate,
                             .slot = slot,
                             .first_hash = "",
                             .head.seq = left->seq,
                             .stopped = true,
                             .found = rows};
    memcpy(note.head.hash, left->hash, sizeof note.head.hash);
    return audit_heads_write(how->heads, &note, HEADS_WAIT_MS, err);
}

static int recover(int fd, off_t size, const char *slot, const struct audit_recovery *how,
                   struct audit_last *ret, struct err *err)
{
    CLEANUP(leftover_done) struct leftover left = {.gate = ""};
    FREE_AT_END struct head_rows *rows = mem_zero(sizeof *rows);
    if (how->heads && audit_heads_read(how->heads, slot, NULL, rows, err) < 0)
        return -1;
    int r = leftover_read(&left, fd, size, how->dir, slot, rows);
    if (r < 0)
        return audit_io_error(err, -r);
    const struct head_row *row = row_of(rows, left.gate);
    struct known known = {.lost = row && !row->found ? row : NULL,
                          .unknown = how->heads && left.gate[0] && !row,
                          .last_ms = left.at_ms};
    int removed = known.lost ? audit_heads_removed(how->heads, slot, row->head.hash, err) : 0;
    if (removed < 0)
        return -1;
    if (removed)
        known.lost = NULL;
    r = complete(fd, &left, how, &known);
    if (r < 0)
        return audit_io_error(err, -r);
    memcpy(ret->hash, left.hash, sizeof ret->hash);
    memcpy(ret->gate, left.gate, sizeof ret->gate);
    ret->at_ms = left.at_ms;
    if (!how->heads || !left.gate[0] || known.lost)
        return 0;
    return update_head(slot, &left, how, rows, err);
}

int audit_recover(int fd, const char *slot, const struct audit_recovery *how,
                  struct audit_last *ret, struct err *err)
{
    struct stat st;
    *ret = (struct audit_last){.hash = CHAIN_NONE};
    if (fstat(fd, &st) < 0)
        return audit_io_error(err, errno);
    if (st.st_size > 0 ? audit_ended_cleanly(fd, st.st_size, ret) : is_new_slot(how->dir, slot))
        return 0;
    return recover(fd, st.st_size, slot, how, ret, err);
}

int audit_find_heads(int fd, struct head_rows *rows)
{
    CLEANUP(audit_lines_done) struct audit_lines lines;
    struct audit_line line;
    struct chain_record record;
    int r;
    audit_lines_init(&lines, fd, 0);
    while ((r = audit_lines_next(&lines, &line)) > 0) {
        if (audit_line_whole(&line) && chain_read(line.text, &record))
            audit_heads_match(rows, &record);
    }
    return r;
}

void audit_write_head(struct json_out *j, const char *ts, int64_t seq, const char *kind,
                      const char *gate)
{
    jo_open(j, '{');
    jo_kown(j, "ts", ts);
    jo_kint(j, "seq", seq);
    jo_kown(j, "kind", kind);
    jo_ktext(j, "gate", gate);
}

/* --- other slots */

/* Asked without the lock, so that a gate which is just starting does not find its slot taken. */
static bool needs_recovery(int dir, const char *name)
{
    struct stat st;
    struct audit_last ignored;
    FD_AT_END int fd = audit_slot_open(dir, name, 0);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_size > 0)
        return !audit_ended_cleanly(fd, st.st_size, &ignored);
    return !is_new_slot(dir, name);
}

static void recover_slot(const char *name, const struct audit_recovery *how)
{
    /* What fails is tried again at the next start; only our own file must work. */
    struct err ignored;
    struct audit_last last;
    FD_AT_END int fd = -1;
    if (needs_recovery(how->dir, name) &&
        audit_slot_lock(how->dir, name, 0, &fd, &ignored) == AUDIT_SLOT_OURS)
        audit_recover(fd, name, how, &last, &ignored);
}

void audit_recover_others(const char *own, const struct audit_recovery *how)
{
    CLEANUP(audit_names_done) struct audit_names slots = {0};
    if (audit_names_list(how->dir, NULL, audit_is_slot, &slots) < 0)
        return;
    for (size_t i = 0; i < slots.n; i++) {
        if (strcmp(slots.names[i], own) != 0)
            recover_slot(slots.names[i], how);
    }
}
