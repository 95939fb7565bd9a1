/* An open look at what a session with an overlay has changed. One at a time reads the layer; a gate may work in the session
 * meanwhile. */
#ifndef SANDGATE_FRONT_SESSION_CHANGES_H
#define SANDGATE_FRONT_SESSION_CHANGES_H

#include "front/options.h"
#include "gate/gate.h"
#include "session/changes.h"
#include "session/named.h"

struct session_changes {
    struct gate gate;
    struct change_list list;
    int64_t bytes; /* of the disk, that the layer takes */
    bool done;     /* what was asked for last */
    bool failed;
    struct err err;
    bool binary;
    bool cut;
    struct buf diff;
};

/* A session that has no layer yet has changed nothing. -1: `ret` is to be closed as well. */
int session_changes_open(const struct named *named, const struct options *o,
                         struct session_changes *ret, struct err *err);
void session_changes_close(struct session_changes *c);
/* How many there are to tell of. */
size_t session_changes_count(const struct session_changes *c);
/* Adds the change's part of a patch. *ret_whole: that says all of it. */
int session_changes_patch(struct session_changes *c, const struct change *change, bool *ret_whole,
                          struct buf *out, struct err *err);

#endif
