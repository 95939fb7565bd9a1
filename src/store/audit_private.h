/* The parts of an open log, for audit.c, audit_sync.c, audit_note.c and audit_rotate.c alone.
 *
 * All of it belongs to the loop's thread, but what a job of the pool was given (`noted_now`, the heads, under
 * their lock). A file is changed for another only while no job is under way. */
#ifndef SANDGATE_STORE_AUDIT_PRIVATE_H
#define SANDGATE_STORE_AUDIT_PRIVATE_H

#include <pthread.h>

#include "base/background.h"
#include "base/clock.h"
#include "store/audit.h"
#include "store/audit_calls.h"
#include "store/audit_heads.h"

struct waiter;

/* What one job notes in state.db, and what came of it. */
struct audit_job {
    struct chain_head head;
    bool settle;  /* look for heads of earlier gates of the slot */
    unsigned max; /* rotated files to be kept; 0: do not look */
    struct removed_file removed[REMOVED_MAX];
    size_t n_removed;
    bool failed;
    struct err err;
};

struct audit {
    unsigned refs; /* the owner's, those of the timers, and of jobs under way */
    uv_loop_t *loop;
    struct audit_options options;
    int dir;
    int fd;
    char slot[SLOT_NAME_MAX];
    char gate[sizeof "0123456789abcdef"];

    int64_t seq;
    int64_t stamp_ms;
    char stamp[CLOCK_TEXT_MAX];
    struct buf pending;
    size_t ended; /* bytes of pending that are whole records */
    size_t head;  /* bytes that audit_begin wrote of the record behind them */
    struct json_out record;
    const char *record_kind; /* of the record that is being written; borrowed */
    const char *record_call; /* or NULL */
    bool lost;               /* a record found no room in pending */
    struct audit_calls open;

    char after[HASH_HEX + 1]; /* what this gate's chain began with */
    bool first;               /* nothing was in the slot */
    char first_hash[HASH_HEX + 1];
    struct chain_head last;    /* of the last record that was ended */
    struct chain_head written; /* … that is in the file */
    struct chain_head safe;    /* … and as safe as the operator asked for */

    /* Positions count the bytes flushed since the open. */
    uint64_t flushed;
    uint64_t synced;
    uint64_t syncing_to;
    struct chain_head syncing_head;
    int sync_error; /* stays: after a failed fdatasync nobody knows what is on the disk */
    int disk_error; /* the same as last heard, under the lock */
    pthread_mutex_t disk;
    bool syncing;
    bool closing;
    uv_timer_t timer;
    struct background *background;
    struct background_job work;
    struct waiter *waiters;
    struct waiter **waiters_end;

    /* Heads. */
    pthread_mutex_t notes; /* held by whoever uses the next three */
    struct audit_heads heads;
    struct audit_job job;
    bool closed;
    bool noting;
    bool settled;
    bool note_failed;
    struct err note_error;
    struct chain_head noted;
    struct background_job note_work;
    struct removed_file removed[REMOVED_MAX]; /* recorded; to be removed by the next job */
    size_t n_removed;

    /* Rotation. */
    uint64_t file_bytes;
    uint64_t listed_at; /* where in the file open calls were last known to recovery */
    int64_t file_seq;   /* of the first record in a file that was gone on in */
    bool found_large;   /* as it was left, not by our first record */
    uint64_t rotate_at; /* not before the file is larger than this */
    bool crowded;       /* there may be more rotated files than are to be kept */

    /* Anchor. */
    pthread_mutex_t anchors;
    bool anchoring;
    bool anchor_failing;
    bool anchor_warned;
    struct chain_head anchored;
    struct chain_head anchoring_head;
    struct err anchor_error;
    int anchor_result;
    uv_timer_t anchor_timer;
    struct background_job anchor_work;
};

/* audit.c */
void audit_unref(struct audit *a);
void audit_timer_closed(uv_handle_t *timer);
/* Writes what is pending; -errno. */
int audit_write_ended(struct audit *a);

/* audit_sync.c */
/* Whatever is due: at once for those who wait, in batches otherwise. */
void audit_sync_next(struct audit *a);
int audit_sync_file(struct audit *a);
void audit_sync_ended(struct audit *a, int result);

/* audit_note.c */
void audit_note_start(struct audit *a);
/* On the loop, without waiting for anybody; 0 once the head is written. */
int audit_note_again(struct audit *a);
void audit_note_close(struct audit *a, bool stopped);

/* audit_rotate.c */
/* Records which calls are open when so much was written since the last time that recovery would have to read far. */
void audit_list_open_if_due(struct audit *a);
/* No job may be under way. */
void audit_rotate_if_large(struct audit *a);
/* In the pool: unlinks what was recorded as removed, and picks what is to be removed next. */
void audit_pick_removed(struct audit *a, struct audit_job *job);
void audit_unlink_removed(struct audit *a);
/* On the loop: records them. */
void audit_record_removed(struct audit *a, const struct audit_job *job);

/* audit_anchor_job.c */
void audit_anchor_init(struct audit *a);
void audit_anchor_next(struct audit *a);
void audit_anchor_close(struct audit *a);

#endif
