#include "store/audit_private.h"

#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "store/audit_recover.h"

/* Here, and in the file before it, should this gate have rotated since. */
static void look_for(struct audit *a, struct head_rows *rows)
{
    FD_AT_END int rotated = audit_newest_rotated(a->dir, a->slot);
    audit_find_heads(a->fd, rows);
    if (rotated >= 0)
        audit_find_heads(rotated, rows);
}

/* With the lock held. */
static int write_head_note(struct audit *a, const struct audit_job *job, bool stopped, int wait_ms,
                           struct err *err)
{
    FREE_AT_END struct head_rows *rows = NULL;
    struct head_note note = {.gate = a->gate,
                             .slot = a->slot,
                             .first_hash = a->first_hash,
                             .head = job->head,
                             .stopped = stopped,
                             .removed = job->removed,
                             .n_removed = job->n_removed};
    if (job->settle) {
        rows = mem_zero(sizeof *rows);
        if (audit_heads_read(&a->heads, a->slot, a->gate, rows, err) < 0)
            return -1;
        /* Usually the one row that there is is where this gate went on. One that is behind, because its gate
         * was killed at the very end, is looked for. */
        bool covered = true;
        for (size_t i = 0; i < rows->n; i++)
            covered = covered && strcmp(rows->rows[i].head.hash, a->after) == 0;
        if (!covered)
            look_for(a, rows);
        note.after = a->after;
        note.found = rows;
    }
    if (audit_heads_write(&a->heads, &note, wait_ms, err) < 0)
        return -1;
    /* Once a slot, so that who removes `state.db-wal` does not make the log's beginning unknown. */
    if (job->settle && a->first)
        db_checkpoint(a->heads.db);
    return 0;
}

static void note_in_pool(void *arg)
{
    struct audit *a = arg;
    struct audit_job *job = &a->job;
    processor_any();
    pthread_mutex_lock(&a->notes);
    if (!a->closed) {
        audit_pick_removed(a, job);
        job->failed = write_head_note(a, job, false, HEADS_WAIT_MS, &job->err) < 0;
        for (size_t i = 0; i < job->n_removed; i++)
            free(TAKE_PTR(job->removed[i].heads));
    }
    pthread_mutex_unlock(&a->notes);
}

static void note_ended(struct audit *a)
{
    const struct audit_job *job = &a->job;
    a->note_failed = job->failed;
    if (job->failed) {
        a->note_error = job->err;
        return;
    }
    a->noted = job->head;
    a->settled = true;
    if (job->max)
        a->crowded = job->n_removed == REMOVED_MAX;
    audit_record_removed(a, job);
}

static void note_left_pool(void *arg)
{
    struct audit *a = arg;
    a->noting = false;
    if (!a->closing) {
        note_ended(a);
        audit_rotate_if_large(a);
        audit_anchor_next(a);
        audit_sync_next(a);
    }
    audit_unref(a);
}

void audit_note_start(struct audit *a)
{
    bool due = a->safe.seq != a->noted.seq || a->n_removed;
    if (a->noting || a->closing || !due)
        return;
    a->job = (struct audit_job){
        .head = a->safe, .settle = !a->settled, .max = a->crowded ? a->options.max_files : 0};
    a->noting = true;
    a->refs++;
    a->note_work = (struct background_job){.run = note_in_pool, .done = note_left_pool, .arg = a};
    background_add(a->background, &a->note_work);
}

int audit_note_again(struct audit *a)
{
    struct audit_job job = {.head = a->safe, .settle = !a->settled};
    if (a->noting || pthread_mutex_trylock(&a->notes) != 0)
        return -1;
    a->note_failed = write_head_note(a, &job, false, 0, &a->note_error) < 0;
    pthread_mutex_unlock(&a->notes);
    if (a->note_failed)
        return -1;
    a->noted = job.head;
    a->settled = true;
    return 0;
}

void audit_give_db(struct audit *a, struct db *db)
{
    bool idle = !a->noting && pthread_mutex_trylock(&a->notes) == 0;
    if (idle && !a->heads.db)
        a->heads.db = TAKE_PTR(db);
    if (idle)
        pthread_mutex_unlock(&a->notes);
    db_close(db);
}

void audit_note_close(struct audit *a, bool stopped)
{
    struct err ignored; /* the next owner of the slot finds the head behind, not wrong */
    if (a->noting)
        background_cancel(&a->note_work);
    pthread_mutex_lock(&a->notes);
    struct audit_job job = {.head = a->safe, .settle = !a->settled};
    audit_unlink_removed(a);
    if (job.head.seq)
        write_head_note(a, &job, stopped, HEADS_WAIT_MS, &ignored);
    audit_heads_done(&a->heads);
    a->closed = true;
    pthread_mutex_unlock(&a->notes);
}
