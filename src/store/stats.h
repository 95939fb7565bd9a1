/* Sums over all calls of all gates, for whoever watches: kept in memory as calls end and added to the table `stat` of
 * `state.db` now and then. */
#ifndef SANDGATE_STORE_STATS_H
#define SANDGATE_STORE_STATS_H

#include "core/call.h"
#include "store/approvals.h"

struct stats;
struct stats *stats_new(void);
/* Accepts NULL, as the next two do. */
void stats_free(struct stats *stats);

/* A call has ended. */
void stats_call(struct stats *stats, const struct call *call);
/* An approval was asked for (APPROVAL_WAITING), or this became of it. */
void stats_approval(struct stats *stats, enum approval_state state);

/* Within a transaction, from any thread: adds what came since the last flush. */
int stats_flush(struct stats *stats, struct db *db, struct err *err);
/* Whether what the last flush added is there to stay; if not, the next one adds it again. */
void stats_flushed(struct stats *stats, bool committed);

/* The upper bounds of a histogram's buckets, in milliseconds; INT64_MAX is the last. */
#define STATS_BUCKETS 14
extern const int64_t stats_bounds_ms[STATS_BUCKETS];

/* Names in the table. What has a bucket has it as its last label: `tool="stat",le="3"`, by its place in
 * stats_bounds_ms, each call in one bucket alone. */
#define STAT_CALLS "calls"
#define STAT_DURATION "duration_bucket"
#define STAT_DURATION_MS "duration_ms"
#define STAT_BYTES "bytes"
#define STAT_APPROVALS "approvals"
#define STAT_DENIALS "denials"
#define STAT_COMMANDS "commands"

/* All sums, sorted by name and labels. `visit` returns 0 to go on. */
int stats_each(struct db *db,
               int (*visit)(void *arg, const char *name, const char *labels, int64_t value),
               void *arg, struct err *err);
/* What counters hold: `budget` what was spent in the period under way, `rate` how many calls were let through. */
int stats_each_counter(struct db *db,
                       int (*visit)(void *arg, bool budget, const char *key, int64_t value,
                                    int64_t since_ms),
                       void *arg, struct err *err);

#endif
