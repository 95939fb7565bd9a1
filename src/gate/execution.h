/* The log of a toolhost's run, `@state/logs/execution.jsonl`: one line for each call.
 *
 * Whoever rotates it renames or removes it: what follows goes to the file that has the name then, a new one where there is none.
 * Several gates may have the same file. Each takes a lock for the moment in which it writes, so that half a line at the end
 * is that of a writer which died, and a line that found no room can be taken back. */
#ifndef SANDGATE_GATE_EXECUTION_H
#define SANDGATE_GATE_EXECUTION_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct execution {
    int fd;          /* -1: there is no such log */
    int mount;       /* the run's state folder */
    struct buf done; /* lines of calls that were done: kept until they can be written */
    struct buf
        refused; /* lines of other calls: dropped when they cannot be, and their callers are told */
    struct buf *adding;
    size_t before;      /* of `adding`, without the line that is being added */
    bool lost;          /* lines that did not fit into a buffer */
    uint64_t locked_ns; /* since when another process has it locked; 0: none has */
};

void execution_init(struct execution *execution);
void execution_done(struct execution *execution);
/* Opens the file below the run's state folder for the gate alone, never through a link. */
int execution_open(struct execution *execution, const char *state_mount, struct err *err);

/* The line of one call goes into the buffer that this returns; execution_end ends it. */
struct buf *execution_begin(struct execution *execution, bool was_done);
void execution_end(struct execution *execution);
/* Writes whole lines, into the file that has the name by now. Below 0: not all could be written. 1: nothing was, another
 * process has it locked; to be called again soon. */
int execution_flush(struct execution *execution, struct err *err);

#endif
