/* What calls have used of their limits, exact over all gates of a user.
 *
 * What a call may use is taken before it runs and is gone if the gate dies; what it did not use is given back
 * when it has ended. Sliding windows keep the time of each call that was let through. */
#ifndef SANDGATE_STORE_COUNTERS_H
#define SANDGATE_STORE_COUNTERS_H

#include "core/verdict.h"
#include "store/db.h"

/* Within a transaction. Takes all charges of one call or, with -1 and err, none: ERR_RATE_LIMITED or
 * ERR_BUDGET_EXCEEDED with the rule, what is used, and when it is worth another try (err->retry_after_ms, exact to the
 * millisecond; the message of a budget has the time of its reset). A clock that is behind what was counted with
 * refuses everything: CLOCK_SLACK_MS less is taken for the same time. Of several that do not fit, the one that takes
 * longest is told. A failure of the database may end the transaction; then db_commit fails too. */
#define CLOCK_SLACK_MS 5000
int counters_take(struct db *db, struct charge *charges, size_t n, int64_t now_ms, struct err *err);
/* The same answer without taking anything; needs no transaction. `used` (n of them, may be NULL) gets what each
 * counter holds. */
int counters_look(struct db *db, const struct charge *charges, size_t n, int64_t now_ms,
                  int64_t *used, struct err *err);
/* Within a transaction: of a budget's charge that was taken, only `used` was. More than was taken is counted too. */
int counters_settle(struct db *db, const struct charge *charge, int64_t used, struct err *err);

/* Forgets all that was counted, for the operator. */
int counters_reset(struct db *db, struct err *err);

/* When the period that `now_ms` is in began, and when the next one begins. */
void period_around(enum charge_period period, int64_t now_ms, int64_t *ret_since_ms,
                   int64_t *ret_next_ms);

#endif
