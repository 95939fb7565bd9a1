/* Writes down every call: intent and outcome in the audit log, and for the toolhost one line in the
 * run's own `logs/execution.jsonl`. Contents never get here, only sizes and hashes. */
#ifndef SANDGATE_GATE_RECORD_H
#define SANDGATE_GATE_RECORD_H

#include "core/pipeline.h"
#include "gate/keeper.h"
#include "store/audit.h"
#include "store/stats.h"

struct record {
    struct audit *audit;
    struct keeper *keeper; /* hears of each call that has ended; may be NULL */
    struct stats *stats;   /* the same */
    int execution_fd;      /* -1: no toolhost run */
    bool full;             /* the last line could not be written */
    bool lost;             /* lines for which there was no room */
    struct buf execution;  /* lines to be written; kept while they cannot be */
    enum audit_sync sync;
};

void record_init(struct record *record, struct audit *audit, enum audit_sync sync);
void record_done(struct record *record);
/* Opens `<state mount>/logs/execution.jsonl` for the gate alone, never through a link. */
int record_open_execution(struct record *record, const char *state_mount, struct err *err);
struct recorder record_recorder(struct record *record);

#endif
