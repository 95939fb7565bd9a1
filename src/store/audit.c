#include "store/audit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_private.h"
#include "store/audit_recover.h"

#ifndef SANDGATE_VERSION
#define SANDGATE_VERSION "0.1.0"
#endif

#define SLOTS_MAX 1000
#define TRIES_MAX 1000
#define CALL_MAX 256
#define PENDING_MAX (32u << 20)
#define PENDING_KEPT (1u << 20)

/* --- slots */

static int open_audit_folder(int state_fd, enum audit_sync sync, struct err *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int dir = openat(state_fd, "audit", flags);
    if (dir < 0 && errno == ENOENT && (mkdirat(state_fd, "audit", 0700) == 0 || errno == EEXIST)) {
        if (sync != AUDIT_SYNC_NONE)
            fsync(state_fd);
        dir = openat(state_fd, "audit", flags);
    }
    if (dir < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(err, ERR_INTERNAL,
                       "`audit` in the state folder is not a folder (a symbolic link or a file "
                       "stands there): move it away");
    return dir < 0 ? audit_io_error(err, errno) : dir;
}

/* Makes a slot just locked ready for our records. */
static int prepare_slot(struct audit *a, struct audit_heads *heads, struct audit_last *ret_last,
                        struct err *err)
{
    struct stat st;
    struct audit_recovery how = {.dir = a->dir, .by = a->gate, .heads = heads};
    if (audit_recover(a->fd, a->slot, &how, ret_last, err) < 0)
        return -1;
    memcpy(a->after, ret_last->hash, sizeof a->after);
    if (fstat(a->fd, &st) < 0)
        return audit_io_error(err, errno);
    a->file_bytes = (uint64_t)st.st_size;
    a->listed_at = a->file_bytes;
    a->found_large = a->file_bytes > a->options.max_bytes;
    /* A power loss shall not take the name of a new file. */
    if (a->options.sync != AUDIT_SYNC_NONE && st.st_size == 0 && fsync(a->dir) < 0)
        return audit_io_error(err, errno);
    return 0;
}

static int take_audit_slot(struct audit *a, struct audit_heads *heads, struct audit_last *ret_last,
                           struct err *err)
{
    unsigned slot = 0;
    for (unsigned i = 0; slot < SLOTS_MAX && i < SLOTS_MAX + TRIES_MAX; i++) {
        snprintf(a->slot, sizeof a->slot, "%03u.jsonl", slot % SLOTS_MAX);
        fd_closep(&a->fd);
        enum audit_slot is = audit_slot_lock(a->dir, a->slot, O_CREAT, &a->fd, err);
        if (is == AUDIT_SLOT_OURS)
            return prepare_slot(a, heads, ret_last, err);
        if (is == AUDIT_SLOT_FAILED)
            return -1;
        slot += is == AUDIT_SLOT_BUSY;
    }
    return err_set(err, ERR_INTERNAL, "no audit file is free: other gates hold %u of at most %d",
                   slot, SLOTS_MAX);
}

void audit_unref(struct audit *a)
{
    if (--a->refs > 0)
        return;
    fd_closep(&a->fd);
    fd_closep(&a->dir);
    buf_done(&a->pending);
    audit_calls_done(&a->open);
    audit_heads_done(&a->heads);
    background_free(a->background);
    free(a);
}

/* --- records */

/* The tool that the record at the end of `pending` names; empty: none, or not by a plain name. */
static struct str tool_of_record(const struct audit *a)
{
    const struct str key = STR(",\"tool\":\"");
    struct str text = {a->pending.data + a->ended, a->pending.len - a->ended};
    const char *at = memmem(text.p, text.n, key.p, key.n);
    if (!at)
        return (struct str){0};
    at += key.n;
    const char *end = memchr(at, '"', (size_t)(text.p + text.n - at));
    if (!end || memchr(at, '\\', (size_t)(end - at)))
        return (struct str){0};
    return (struct str){at, (size_t)(end - at)};
}

/* Open calls are listed from time to time, so that recovery need not read further back. */
static void follow_call(struct audit *a)
{
    if (!a->record_call)
        return;
    struct str id = {a->record_call, strnlen(a->record_call, CALL_MAX)};
    if (strcmp(a->record_kind, "call.intent") == 0)
        audit_calls_begin(&a->open, id, tool_of_record(a));
    else if (strcmp(a->record_kind, "call.outcome") == 0)
        audit_calls_end(&a->open, id);
}

struct json_out *audit_begin(struct audit *a, const char *kind, const char *call)
{
    assert(a->pending.len == a->ended);
    int64_t now = clock_unix_ms();
    if (now != a->stamp_ms) {
        clock_format_utc(now, a->stamp);
        a->stamp_ms = now;
    }
    a->record = (struct json_out){.out = &a->pending};
    audit_write_head(&a->record, a->stamp, ++a->seq, kind, a->gate);
    if (call)
        jo_kstr(&a->record, "call", (struct str){call, strnlen(call, CALL_MAX)});
    /* So far there were words of ours alone. */
    a->record.hide = true;
    a->head = a->pending.len - a->ended;
    a->record_kind = kind;
    a->record_call = call;
    return &a->record;
}

/* Leaves the head, which tells at least which call it was. */
static void shorten_record(struct audit *a)
{
    a->pending.len = a->ended + a->head;
    a->pending.failed = false;
    a->record = (struct json_out){.out = &a->pending, .comma = true};
    jo_kbool(&a->record, "oversized", true);
}

void audit_end(struct audit *a)
{
    struct chain_head sealed = {.seq = a->seq};
    const size_t most = AUDIT_RECORD_MAX - CHAIN_TAIL - sizeof ",\n";
    if (a->pending.failed || a->pending.len - a->ended > most)
        shorten_record(a);
    follow_call(a);
    memcpy(sealed.hash, a->last.hash, sizeof sealed.hash);
    chain_seal(&a->pending, a->ended, sealed.hash);
    /* One record's room is kept free, so that one which fails in it is really too long. The gap in
     * `seq` shows what was lost. */
    if (a->pending.failed || a->ended > PENDING_MAX - AUDIT_RECORD_MAX) {
        a->pending.len = a->ended;
        a->pending.failed = false;
        a->lost = true;
        return;
    }
    a->last = sealed;
    a->ended = a->pending.len;
}

int audit_write_ended(struct audit *a)
{
    size_t done = 0;
    int r = 0;
    while (done < a->ended && r == 0) {
        ssize_t n = write(a->fd, a->pending.data + done, a->ended - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            r = -errno;
    }
    buf_consume(&a->pending, done);
    if (a->pending.len == 0)
        buf_reset(&a->pending, PENDING_KEPT);
    a->ended -= done;
    a->flushed += done;
    a->file_bytes += done;
    if (a->ended == 0) {
        a->written = a->last;
        if (a->options.sync == AUDIT_SYNC_NONE)
            a->safe = a->written;
    }
    return r;
}

void audit_write_out(struct audit *a)
{
    if (!a->sync_error)
        audit_write_ended(a);
}

int audit_flush(struct audit *a, struct err *err)
{
    if (a->sync_error)
        return err_set(err, ERR_INTERNAL,
                       "the audit log did not reach the disk (%s) and may have lost records: check "
                       "the disk, then start again",
                       strerror(-a->sync_error));
    audit_list_open_if_due(a);
    int r = audit_write_ended(a);
    if (r == 0)
        audit_rotate_if_large(a);
    audit_sync_next(a);
    if (r < 0)
        return audit_io_error(err, -r);
    if (a->note_failed && audit_note_again(a) < 0) {
        *err = a->note_error;
        return -1;
    }
    if (!a->lost)
        return 0;
    a->lost = false;
    return err_set(err, ERR_INTERNAL, "more audit records than there was room for: some are lost");
}

/* --- opening and closing */

/* state.db knows of a gate before the log has a record of it. So it must know the gate before this one: where it does
 * not, it was removed or an older one was put in its place, and this record says so for good. */
static int write_start(struct audit *a, struct audit_heads *heads, const struct audit_last *last,
                       struct err *err)
{
    bool known;
    const struct head_begin begin = {a->gate, a->slot, a->after, last->gate};
    if (audit_heads_begin(heads, &begin, &known, err) < 0)
        return -1;
    a->first = strcmp(a->after, CHAIN_NONE) == 0;
    memcpy(a->last.hash, a->after, sizeof a->last.hash);
    struct json_out *j = audit_begin(a, "gate.start", NULL);
    jo_kint(j, "pid", getpid());
    jo_ktext(j, "version", SANDGATE_VERSION);
    jo_ktext(j, "after", a->after);
    if (last->gate[0] && !known)
        audit_write_unknown(j, last->at_ms);
    audit_end(a);
    if (last->gate[0] && !known && a->options.warn)
        a->options.warn(a->options.warn_arg,
                        "state.db does not know the last gate of the audit log: it was removed or "
                        "replaced; see `sandgate audit verify`");
    memcpy(a->first_hash, a->last.hash, sizeof a->first_hash);
    int r = audit_write_ended(a);
    return r < 0 ? audit_io_error(err, -r) : 0;
}

static int start_audit(struct audit *a, int state_fd, struct err *err)
{
    uint64_t id;
    struct audit_last last;
    struct audit_heads given = {.state_fd = state_fd, .db = a->options.db};
    struct audit_heads *heads = given.db ? &given : &a->heads;
    a->options.db = NULL;
    /* Before there is a file: one without a database is a log whose database was removed. */
    if (audit_heads_open(heads, err) < 0)
        return -1;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        return err_set(err, ERR_INTERNAL, "no random numbers: %s", strerror(errno));
    snprintf(a->gate, sizeof a->gate, "%016" PRIx64, id);
    a->dir = open_audit_folder(state_fd, a->options.sync, err);
    if (a->dir < 0 || take_audit_slot(a, heads, &last, err) < 0)
        return -1;
    struct audit_recovery how = {.dir = a->dir, .by = a->gate, .heads = heads};
    audit_recover_others(a->slot, &how);
    return write_start(a, heads, &last, err);
}

int audit_open(struct audit **ret_audit, uv_loop_t *loop, int state_fd,
               const struct audit_options *options, struct err *err)
{
    struct audit *a = mem_zero(sizeof *a);
    *a = (struct audit){.refs = 1, .loop = loop, .options = *options, .dir = -1, .fd = -1};
    a->heads.state_fd = state_fd;
    a->pending = BUF_INIT(PENDING_MAX);
    a->waiters_end = &a->waiters;
    pthread_mutex_init(&a->disk, NULL);
    pthread_mutex_init(&a->notes, NULL);
    pthread_mutex_init(&a->anchors, NULL);
    int made = background_new(&a->background, loop);
    if (made < 0)
        err_set(err, ERR_SESSION_BUSY, "making room for work in the background: %s",
                uv_strerror(made));
    if (made < 0 || start_audit(a, state_fd, err) < 0) {
        audit_unref(a);
        return -1;
    }
    uv_timer_init(loop, &a->timer);
    uv_unref((uv_handle_t *)&a->timer);
    a->timer.data = a;
    a->refs++;
    audit_anchor_init(a);
    if (a->found_large)
        audit_rotate_if_large(a);
    audit_sync_next(a);
    *ret_audit = a;
    return 0;
}

void audit_timer_closed(uv_handle_t *timer)
{
    audit_unref(timer->data);
}

/* Needs no running loop: the last fdatasync is done here, also for those who wait for one, and so are the last head
 * and its anchor. What is left is memory, given back when the caller runs the loop (UV_RUN_DEFAULT) once more: the
 * handles of the timers and jobs that threads of the pool are in the middle of refer to it. */
void audit_close(struct audit *a)
{
    if (!a)
        return;
    /* What fails here the next gate records as not stopped. */
    a->closing = true;
    audit_begin(a, "gate.stop", NULL);
    audit_end(a);
    bool stopped = !a->sync_error && audit_write_ended(a) == 0;
    a->syncing_to = a->flushed;
    a->syncing_head = a->written;
    audit_sync_ended(a, a->options.sync == AUDIT_SYNC_NONE ? 0 : audit_sync_file(a));
    if (a->syncing)
        background_cancel(&a->work);
    audit_note_close(a, stopped && !a->sync_error);
    audit_anchor_close(a);
    /* The file itself is closed with the last reference. */
    flock(a->fd, LOCK_UN);
    uv_close((uv_handle_t *)&a->timer, audit_timer_closed);
    audit_unref(a);
}

const char *audit_gate_id(const struct audit *a)
{
    return a->gate;
}
