/* What a call carries that is too large for a frame: a sealed memory file, or a file of the state folder that is replaced
 * but never changed. */
#ifndef SANDGATE_WORK_LARGE_BODY_H
#define SANDGATE_WORK_LARGE_BODY_H

#include <stddef.h>

#include "base/err.h"

struct large_body {
    void *at; /* NULL: nothing is mapped */
    size_t n;
};

/* `fd` may be FRAME_FD_LOST. */
int large_body_map(int fd, struct large_body *ret, struct err *err);
void large_body_done(struct large_body *body);

#endif
