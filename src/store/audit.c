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
#include "base/processor.h"
#include "store/audit_recover.h"

#ifndef SANDGATE_VERSION
#define SANDGATE_VERSION "0.1.0"
#endif

#define SLOTS_MAX 1000
#define SLOT_NAME_MAX sizeof "000.jsonl"
#define TRIES_MAX 1000
#define CALL_MAX 256
#define PENDING_MAX (8u << 20)
#define PENDING_KEPT (1u << 20)

struct waiter {
    struct waiter *next;
    audit_synced_fn done;
    void *arg;
    uint64_t position;
};

struct audit {
    unsigned refs; /* the owner's, the timer's, and that of an fdatasync under way */
    uv_loop_t *loop;
    struct audit_options options;
    int fd;
    char gate[sizeof "0123456789abcdef"];

    int64_t seq;
    int64_t stamp_ms;
    char stamp[CLOCK_TEXT_MAX];
    struct buf pending;
    size_t ended; /* bytes of pending that are whole records */
    size_t head;  /* bytes that audit_begin wrote of the record behind them */
    struct json_out record;
    bool lost; /* a record found no room in pending */

    /* Positions count the bytes flushed since the open. */
    uint64_t flushed;
    uint64_t synced;
    uint64_t syncing_to;
    int sync_error; /* stays: after a failed fdatasync nobody knows what is on the disk */
    int disk_error; /* the same as last heard, under the lock */
    pthread_mutex_t disk;
    bool syncing;
    bool closing;
    uv_timer_t timer;
    uv_work_t work;
    struct waiter *waiters;
    struct waiter **waiters_end;
};

/* --- slots */

static int open_folder(int state_fd, enum audit_sync sync, struct err *err)
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

/* A file that cannot be renamed (an append-only folder) is used on: growing beats refusing. */
static bool rotate(int dir, const char *name)
{
    int64_t now = clock_unix_ms();
    for (int i = 0; i < TRIES_MAX; i++) {
        char to[64];
        char ts[CLOCK_TEXT_MAX];
        clock_format_utc(now + i, ts);
        snprintf(to, sizeof to, "%.3s.%.4s%.2s%.2sT%.2s%.2s%.6sZ.jsonl", name, ts, ts + 5, ts + 8,
                 ts + 11, ts + 14, ts + 17);
        if (renameat2(dir, name, dir, to, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* Makes a slot just locked ready for our records: recovered, and not too large. */
static enum audit_slot prepare_slot(struct audit *a, int dir, const char *name, struct err *err)
{
    struct stat st;
    bool sync = a->options.sync != AUDIT_SYNC_NONE;
    if (audit_recover(a->fd, a->gate, err) < 0)
        return AUDIT_SLOT_FAILED;
    if (fstat(a->fd, &st) < 0)
        return audit_io_error(err, errno);
    bool large = (uint64_t)st.st_size > a->options.max_bytes;
    /* A power loss shall take neither what was just recovered nor the name of a new file. */
    if (sync && ((large && fdatasync(a->fd) < 0) || (st.st_size == 0 && fsync(dir) < 0)))
        return audit_io_error(err, errno);
    return large && rotate(dir, name) ? AUDIT_SLOT_MOVED : AUDIT_SLOT_OURS;
}

static int take_slot(struct audit *a, int dir, char name[SLOT_NAME_MAX], struct err *err)
{
    unsigned slot = 0;
    for (unsigned i = 0; slot < SLOTS_MAX && i < SLOTS_MAX + TRIES_MAX; i++) {
        snprintf(name, SLOT_NAME_MAX, "%03u.jsonl", slot % SLOTS_MAX);
        fd_closep(&a->fd);
        enum audit_slot is = audit_slot_lock(dir, name, O_CREAT, &a->fd, err);
        if (is == AUDIT_SLOT_OURS)
            is = prepare_slot(a, dir, name, err);
        if (is == AUDIT_SLOT_OURS || is == AUDIT_SLOT_FAILED)
            return is == AUDIT_SLOT_OURS ? 0 : -1;
        slot += is == AUDIT_SLOT_BUSY;
    }
    return err_set(err, ERR_INTERNAL, "no audit file is free: other gates hold %u of at most %d",
                   slot, SLOTS_MAX);
}

/* --- syncing */

static void audit_unref(struct audit *a)
{
    if (--a->refs > 0)
        return;
    fd_closep(&a->fd);
    buf_done(&a->pending);
    free(a);
}

/* The kernel tells of a lost write only once for a descriptor: one at a time, and what either
 * audit_close or the pool's thread was told holds for both. */
static int sync_file(struct audit *a)
{
    pthread_mutex_lock(&a->disk);
    processor_any();
    while (!a->disk_error && fdatasync(a->fd) < 0) {
        if (errno != EINTR)
            a->disk_error = -errno;
    }
    int r = a->disk_error;
    pthread_mutex_unlock(&a->disk);
    return r;
}

static void sync_ended(struct audit *a, int result)
{
    if (result < 0)
        a->sync_error = result;
    else
        a->synced = a->syncing_to;
    /* A waiter's function may write, wait and close. */
    struct waiter *w;
    while ((w = a->waiters) && (a->sync_error || w->position <= a->synced)) {
        a->waiters = w->next;
        if (!a->waiters)
            a->waiters_end = &a->waiters;
        w->done(w->arg, a->sync_error);
        free(w);
    }
}

static void sync_in_pool(uv_work_t *work)
{
    sync_file(work->data);
}

static void sync_next(struct audit *a);

static void sync_left_pool(uv_work_t *work, int status)
{
    struct audit *a = work->data;
    (void)status; /* only audit_close cancels, and it has done the work itself */
    if (!a->closing)
        sync_ended(a, a->disk_error);
    /* Not earlier: what the waiters just wrote shares the next one. */
    a->syncing = false;
    sync_next(a);
    audit_unref(a);
}

static void sync_start(struct audit *a)
{
    a->syncing = true;
    a->syncing_to = a->flushed;
    a->refs++;
    a->work.data = a;
    uv_queue_work(a->loop, &a->work, sync_in_pool, sync_left_pool);
}

static void on_timer(uv_timer_t *timer)
{
    sync_start(timer->data);
}

/* Whatever is due: at once for those who wait, in batches otherwise. */
static void sync_next(struct audit *a)
{
    if (a->syncing || a->closing || a->sync_error || a->flushed == a->synced)
        return;
    if (a->waiters)
        sync_start(a);
    else if (a->options.sync == AUDIT_SYNC_BATCH && !uv_is_active((uv_handle_t *)&a->timer))
        uv_timer_start(&a->timer, on_timer, a->options.batch_ms, 0);
}

void audit_wait_synced(struct audit *a, audit_synced_fn done, void *arg)
{
    bool wait = a->options.sync == AUDIT_SYNC_ALWAYS && a->flushed > a->synced;
    if (!wait || a->sync_error || a->closing) {
        done(arg, a->sync_error);
        return;
    }
    struct waiter *w = mem_zero(sizeof *w);
    *w = (struct waiter){.done = done, .arg = arg, .position = a->flushed};
    *a->waiters_end = w;
    a->waiters_end = &w->next;
    sync_next(a);
}

/* --- records */

struct json_out *audit_begin(struct audit *a, const char *kind, const char *call)
{
    assert(a->pending.len == a->ended);
    int64_t now = clock_unix_ms();
    if (now != a->stamp_ms) {
        clock_format_utc(now, a->stamp);
        a->stamp_ms = now;
    }
    a->record = (struct json_out){.out = &a->pending, .hide = true};
    audit_write_head(&a->record, a->stamp, ++a->seq, kind, a->gate);
    if (call)
        jo_kstr(&a->record, "call", (struct str){call, strnlen(call, CALL_MAX)});
    a->head = a->pending.len - a->ended;
    return &a->record;
}

static void finish_record(struct audit *a)
{
    jo_close(&a->record, '}');
    buf_add_char(&a->pending, '\n');
}

/* Leaves the head, which tells at least which call it was. */
static void shorten_record(struct audit *a)
{
    a->pending.len = a->ended + a->head;
    a->pending.failed = false;
    a->record = (struct json_out){.out = &a->pending, .comma = true};
    jo_kbool(&a->record, "oversized", true);
    finish_record(a);
}

void audit_end(struct audit *a)
{
    finish_record(a);
    if (a->pending.failed || a->pending.len - a->ended > AUDIT_RECORD_MAX)
        shorten_record(a);
    /* One record's room is kept free, so that one which fails in it is really too long. The gap in
     * `seq` shows what was lost. */
    if (a->pending.failed || a->ended > PENDING_MAX - AUDIT_RECORD_MAX) {
        a->pending.len = a->ended;
        a->pending.failed = false;
        a->lost = true;
    }
    a->ended = a->pending.len;
}

static int write_ended(struct audit *a)
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
    return r;
}

int audit_flush(struct audit *a, struct err *err)
{
    if (a->sync_error)
        return err_set(err, ERR_INTERNAL,
                       "the audit log did not reach the disk (%s) and may have lost records: check "
                       "the disk, then start again",
                       strerror(-a->sync_error));
    int r = write_ended(a);
    sync_next(a);
    if (r < 0)
        return audit_io_error(err, -r);
    if (!a->lost)
        return 0;
    a->lost = false;
    return err_set(err, ERR_INTERNAL, "more audit records than there was room for: some are lost");
}

/* --- opening and closing */

static int start(struct audit *a, int state_fd, struct err *err)
{
    uint64_t id;
    char name[SLOT_NAME_MAX];
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        return err_set(err, ERR_INTERNAL, "no random numbers: %s", strerror(errno));
    snprintf(a->gate, sizeof a->gate, "%016" PRIx64, id);
    FD_AT_END int dir = open_folder(state_fd, a->options.sync, err);
    if (dir < 0 || take_slot(a, dir, name, err) < 0)
        return -1;
    audit_recover_others(TAKE_FD(dir), name, a->gate);
    struct json_out *j = audit_begin(a, "gate.start", NULL);
    jo_kint(j, "pid", getpid());
    jo_ktext(j, "version", SANDGATE_VERSION);
    audit_end(a);
    int r = write_ended(a);
    return r < 0 ? audit_io_error(err, -r) : 0;
}

int audit_open(struct audit **ret_audit, uv_loop_t *loop, int state_fd,
               const struct audit_options *options, struct err *err)
{
    struct audit *a = mem_zero(sizeof *a);
    *a = (struct audit){.refs = 1, .loop = loop, .options = *options, .fd = -1};
    a->pending = BUF_INIT(PENDING_MAX);
    a->waiters_end = &a->waiters;
    pthread_mutex_init(&a->disk, NULL);
    if (start(a, state_fd, err) < 0) {
        audit_unref(a);
        return -1;
    }
    if (options->sync == AUDIT_SYNC_BATCH) {
        uv_timer_init(loop, &a->timer);
        uv_unref((uv_handle_t *)&a->timer);
        a->timer.data = a;
        a->refs++;
        sync_next(a);
    }
    *ret_audit = a;
    return 0;
}

static void on_timer_closed(uv_handle_t *timer)
{
    audit_unref(timer->data);
}

/* Needs no running loop: the last fdatasync is done here, also for those who wait for one. What is
 * left is memory, given back when the caller runs the loop (UV_RUN_DEFAULT) once more: the timer's
 * handle and an fdatasync that a thread of the pool is in the middle of refer to it. */
void audit_close(struct audit *a)
{
    if (!a)
        return;
    struct err ignored; /* the next gate then records this one as not stopped */
    a->closing = true;
    audit_begin(a, "gate.stop", NULL);
    audit_end(a);
    audit_flush(a, &ignored);
    a->syncing_to = a->flushed;
    sync_ended(a, a->options.sync == AUDIT_SYNC_NONE ? 0 : sync_file(a));
    if (a->syncing)
        uv_cancel((uv_req_t *)&a->work);
    /* The file itself is closed with the last reference. */
    flock(a->fd, LOCK_UN);
    if (a->options.sync == AUDIT_SYNC_BATCH)
        uv_close((uv_handle_t *)&a->timer, on_timer_closed);
    audit_unref(a);
}

const char *audit_gate_id(const struct audit *a)
{
    return a->gate;
}
