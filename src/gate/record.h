/* Writes down every call: intent and outcome in the audit log, and for the toolhost one line in the
 * run's own `logs/execution.jsonl`. Contents never get here, only sizes and hashes. */
#ifndef SANDGATE_GATE_RECORD_H
#define SANDGATE_GATE_RECORD_H

#include "core/pipeline.h"
#include "gate/execution.h"
#include "gate/keeper.h"
#include "store/audit.h"
#include "store/stats.h"

struct record {
    struct audit *audit;
    struct keeper *keeper; /* hears of each call that has ended; may be NULL */
    struct stats *stats;   /* the same */
    struct execution execution;
    enum audit_sync sync;
};

void record_init(struct record *record, struct audit *audit, enum audit_sync sync);
void record_done(struct record *record);
struct recorder record_recorder(struct record *record);

#endif
