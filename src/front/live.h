/* What a command prints, on its way to the caller while it runs: gathered for a turn of the loop, cut between
 * characters, and left out while the caller is too far behind. The answer has its beginning and end in any case. */
#ifndef SANDGATE_FRONT_LIVE_H
#define SANDGATE_FRONT_LIVE_H

#include "dialect/format.h"
#include "front/lines.h"

struct live {
    struct lines *lines;
    /* Writes one line for a piece; false: this one needs none. */
    bool (*tell)(void *arg, const struct printed *printed, struct buf *out);
    void *arg;
    struct {
        struct buf held;
        uint64_t skipped; /* bytes left out since the last piece */
    } streams[STREAMS];
};

void live_init(struct live *live, struct lines *lines,
               bool (*tell)(void *arg, const struct printed *printed, struct buf *out), void *arg);
void live_done(struct live *live);
void live_add(struct live *live, enum stream stream, struct str bytes);
/* Tells what is held, but for the beginning of a character. */
void live_flush(struct live *live);
/* Tells the rest, since the answer follows: that too, and how much was left out at the end. */
void live_end(struct live *live);

#endif
