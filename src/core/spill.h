/* What commands printed, from its beginning, for as long as there is room. The answer to a command shows the first
 * and the last part of long output (core/output.h); what lies between is read from here, by an id.
 *
 * The bytes lie in files that have no name, so nothing is left behind when the gate ends. A command that prints
 * little has no file. Running out of room is never the command's fault: what does not fit is counted and dropped. */
#ifndef SANDGATE_CORE_SPILL_H
#define SANDGATE_CORE_SPILL_H

#include "base/buf.h"
#include "base/err.h"

/* Most that are kept at once; each has a file open. */
#define SPILLS_MAX 64
#define SPILL_ID_MAX 24

/* What a command prints comes apart, under these names. */
enum stream { STREAM_STDOUT, STREAM_STDERR, STREAMS };
extern const char *const stream_names[]; /* NULL behind them */

struct spill;

/* Those of one session. When another needs the room, the one whose command ended first goes first. */
struct spills {
    int dir_fd;         /* borrowed; where the files are made */
    int64_t max_stream; /* bytes, of each stream of a command */
    int64_t max_total;  /* bytes, of all together */
    struct spill *running;
    struct spill *finished; /* in the order in which their commands ended */
    size_t count;           /* of those that have a file */
    int64_t bytes;          /* in these files */
};

void spills_init(struct spills *spills, int dir_fd, int64_t max_stream, int64_t max_total);
/* Every spill that was opened has been finished. */
void spills_done(struct spills *spills);

/* For a command that starts. Finish it when both of its streams have ended; until then it is never dropped. */
struct spill *spill_open(struct spills *spills);
void spill_add(struct spill *spill, enum stream stream, struct str bytes);
/* Whether anything was added. */
bool spill_used(const struct spill *spill);
/* What spill_read knows it by, also while its command runs. */
const char *spill_id(const struct spill *spill);
/* `ret_id` becomes the id, or "" when nothing is kept. The spill is not the caller's any more. */
void spill_finish(struct spill *spill, char ret_id[SPILL_ID_MAX]);

struct spill_page {
    int64_t kept;  /* bytes that can be read */
    int64_t total; /* bytes that were added */
    bool running;
    bool complete; /* the command has ended, and all it printed is kept */
};

/* Adds to `out` up to `max` bytes of the stream from `offset` on; none behind what is kept. Without `spills` there
 * is nothing to be found. */
int spill_read(const struct spills *spills, struct str id, enum stream stream, int64_t offset,
               size_t max, struct buf *out, struct spill_page *ret, struct err *err);

#endif
