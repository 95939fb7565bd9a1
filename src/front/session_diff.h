/* What a session with an overlay has changed. */
#ifndef SANDGATE_FRONT_SESSION_DIFF_H
#define SANDGATE_FRONT_SESSION_DIFF_H

#include "front/options.h"
#include "session/named.h"

/* `sandgate session diff`: the changes as a patch, as lines or as JSON. */
int session_diff(const struct named *named, const struct options *o, struct buf *out,
                 struct err *err);
/* How many there are, and how many bytes of the disk the layer takes. */
int session_count_changes(const struct named *named, const struct options *o, int64_t *ret_count,
                          int64_t *ret_bytes, struct err *err);

#endif
