#include "store/audit_private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/processor.h"

struct waiter {
    struct waiter *next;
    audit_synced_fn done;
    void *arg;
    uint64_t position;
};

/* The kernel tells of a lost write only once for a descriptor: one at a time, and what either
 * audit_close or the pool's thread was told holds for both. */
int audit_sync_file(struct audit *a)
{
    pthread_mutex_lock(&a->disk);
    while (!a->disk_error && fdatasync(a->fd) < 0) {
        if (errno != EINTR)
            a->disk_error = -errno;
    }
    int r = a->disk_error;
    pthread_mutex_unlock(&a->disk);
    return r;
}

void audit_sync_ended(struct audit *a, int result)
{
    if (result < 0) {
        a->sync_error = result;
    } else {
        a->synced = a->syncing_to;
        a->safe = a->syncing_head;
    }
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

static void sync_in_pool(void *arg)
{
    processor_any();
    audit_sync_file(arg);
}

static void sync_left_pool(void *arg)
{
    struct audit *a = arg;
    /* Only audit_close cancels, and it has done the work itself. */
    if (!a->closing)
        audit_sync_ended(a, a->disk_error);
    /* Not earlier: what the waiters just wrote shares the next one. */
    a->syncing = false;
    if (a->options.sync == AUDIT_SYNC_BATCH)
        audit_note_start(a);
    audit_rotate_if_large(a);
    audit_sync_next(a);
    audit_unref(a);
}

static void sync_start(struct audit *a)
{
    a->syncing = true;
    a->syncing_to = a->flushed;
    a->syncing_head = a->written;
    a->refs++;
    a->work = (struct background_job){.run = sync_in_pool, .done = sync_left_pool, .arg = a};
    background_add(a->background, &a->work);
}

static bool batch_due(const struct audit *a)
{
    return a->options.sync == AUDIT_SYNC_BATCH && !a->syncing && !a->sync_error &&
           a->flushed != a->synced;
}

static void on_sync_timer(uv_timer_t *timer)
{
    struct audit *a = timer->data;
    if (batch_due(a))
        sync_start(a);
    else
        audit_note_start(a);
}

void audit_sync_next(struct audit *a)
{
    if (a->closing)
        return;
    if (a->waiters && !a->syncing && !a->sync_error) {
        sync_start(a);
        return;
    }
    bool due = batch_due(a) || (!a->noting && (a->safe.seq != a->noted.seq || a->n_removed));
    if (due && !uv_is_active((uv_handle_t *)&a->timer))
        uv_timer_start(&a->timer, on_sync_timer, a->options.batch_ms ? a->options.batch_ms : 1, 0);
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
    audit_sync_next(a);
}
