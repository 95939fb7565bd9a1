#include "work/guard_refresh.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "work/guard_known.h"
#include "work/guard_saved.h"

/* Watches that are added in one go, before a scan that waits gets its turn. */
#define WATCH_BATCH 256u
#define DIRTY_MAX ((size_t)64 << 20)
/* New folders are watched and then read again, in which there may be new ones. */
#define WATCH_ROUNDS 64
/* How often is listened again where folders are moved meanwhile. */
#define MOVED_ROUNDS 8
/* By then a time of change is not that of a later change as well. */
#define MOMENT_NS 25000000

/* Times from before the clock was set back say nothing. */
static void check_clock(struct scan *s)
{
    struct guard_root *at = s->at;
    struct tree_time t = tree_now();
    bool set_back = t.sec < at->clock.sec || (t.sec == at->clock.sec && t.nsec < at->clock.nsec);
    for (uint32_t i = 0; set_back && i < at->tree.n_folders; i++)
        at->tree.folders[i].changed = (struct tree_time){0};
    at->clock = t;
}

static int update_some(struct scan *s, const struct buf *folders)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i + sizeof(uint32_t) <= folders->len; i += sizeof(uint32_t)) {
        uint32_t at;
        memcpy(&at, folders->data + i, sizeof at);
        unsigned flags = s->at->tree.folders[at].flags;
        if (flags & TREE_READ && !(flags & TREE_FREE))
            error = folders_update(&s->reading, at);
    }
    return error;
}

static int watch_new(struct scan *s)
{
    struct guard_root *at = s->at;
    int error = 0;
    for (int i = 0; error == 0 && at->watch.fd >= 0; i++) {
        BUF_AT_END struct buf fresh = BUF_INIT(DIRTY_MAX);
        guard_watch_add(&at->watch, &at->tree, s->root->fd, UINT32_MAX, &fresh);
        if (fresh.len == 0)
            return 0;
        error = fresh.failed ? -ENOMEM : update_some(s, &fresh);
        /* Somebody makes folders faster than they are read. */
        if (i == WATCH_ROUNDS)
            at->watch.complete = false;
        if (i == WATCH_ROUNDS)
            return error;
    }
    return error;
}

static int update_all(struct scan *s)
{
    BUF_AT_END struct buf dirty = BUF_INIT(DIRTY_MAX);
    int error = folders_check(&s->reading, &dirty);
    if (error == 0 && dirty.failed)
        error = -ENOMEM;
    return error < 0 ? error : update_some(s, &dirty);
}

/* 1: nothing was read. */
static int update_heard(struct scan *s)
{
    struct guard_watch *watch = &s->at->watch;
    uint64_t before = s->reading.folders;
    BUF_AT_END struct buf dirty = BUF_INIT(DIRTY_MAX);
    bool heard = guard_watch_take(watch, &s->at->tree, &dirty);
    s->reading.moved |= watch->moved;
    int error = heard ? update_some(s, &dirty) : update_all(s);
    watch->moved |= !heard;
    if (error == 0 && (watch->missed || s->reading.folders > before))
        error = watch_new(s);
    return error < 0 ? error : s->reading.folders == before;
}

/* What is gone may have been moved to where this round had looked before, and in a folder that was gone when it was to be
 * watched something may have changed. */
static bool is_astir(const struct scan *s)
{
    return s->at->watch.moved || s->at->watch.missed || s->reading.lost;
}

/* Which events belong to a folder that was in several places is not certain: its time is. */
static int update_by_times(struct scan *s)
{
    s->reading.lost = false;
    int error = update_all(s);
    if (error == 0)
        error = watch_new(s);
    return error < 0 ? error : update_heard(s);
}

/* What is moved while folders are read is heard of behind that. */
static int update_watched(struct scan *s)
{
    struct guard_watch *watch = &s->at->watch;
    s->reading.lost = false;
    int r = update_heard(s);
    bool first = true;
    for (int i = 0; r == 0 && (first || is_astir(s)) && i < MOVED_ROUNDS; i++) {
        first = s->reading.lost = false;
        r = update_heard(s);
    }
    watch->stirred |= is_astir(s) || s->reading.moved;
    if (r >= 0 && watch->stirred && s->thorough)
        r = update_by_times(s);
    bool sure = r >= 0 && !is_astir(s) && watch->complete;
    watch->stirred &= !(sure && s->thorough);
    s->settled |= sure;
    s->unsure = s->others && !sure;
    /* Events that were taken are gone: the next scan looks at all folders. */
    if (r < 0)
        watch->complete = false;
    return r < 0 ? r : 0;
}

/* Where folders are not watched, their times tell whether one was moved meanwhile, once these are old enough. */
static int update_until_sure(struct scan *s)
{
    int error = update_all(s);
    s->unsure = true;
    for (int i = 0; error == 0 && s->unsure && i < MOVED_ROUNDS; i++) {
        const struct timespec moment = {.tv_nsec = MOMENT_NS};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        error = update_all(s);
        BUF_AT_END struct buf dirty = BUF_INIT(DIRTY_MAX);
        if (error == 0)
            error = folders_check(&s->reading, &dirty);
        s->unsure = dirty.len > 0 || dirty.failed;
    }
    return error;
}

static int update(struct scan *s)
{
    const struct guard_watch *watch = &s->at->watch;
    check_clock(s);
    if (watch->complete && watch->fd >= 0)
        return update_watched(s);
    return s->others ? update_until_sure(s) : update_all(s);
}

/* With what other gates know. */
int refresh(struct scan *s)
{
    int error = update(s);
    if (error < 0)
        return error;
    error = guard_saved_take(s->at, s->store, s->number);
    s->store_failed = error < 0;
    bool stale = !s->reading.changed && guarded_is_stale(&s->at->found, s->root->fd);
    s->at->stale |= stale;
    if (error < 0 || !(s->at->look_again || stale))
        return error;
    s->at->look_again = false;
    guard_known_seek(&s->at->tree);
    error = update_all(s);
    return error < 0 ? error : update(s);
}

/* Until every folder is watched; then all are looked at once more, since some may have changed before that. */
int refresh_and_watch(struct scan *s, pthread_mutex_t *lock)
{
    struct guard_watch *watch = &s->at->watch;
    while (!watch->failed && !watch->complete &&
           !guard_watch_add(watch, &s->at->tree, s->root->fd, WATCH_BATCH, NULL)) {
        pthread_mutex_unlock(lock);
        const struct timespec moment = {.tv_nsec = 200000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        pthread_mutex_lock(lock);
    }
    if (watch->failed || watch->complete)
        return 0;
    BUF_AT_END struct buf unused = BUF_INIT(DIRTY_MAX);
    guard_watch_take(watch, &s->at->tree, &unused);
    int error = update_all(s);
    watch->complete = error == 0;
    if (error == 0 && (error = watch_new(s)) < 0)
        watch->complete = false;
    return error;
}
