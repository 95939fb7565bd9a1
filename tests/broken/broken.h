/* A worker that does on purpose what a taken-over one would try, for tests that show what holds it: never for use.
 *
 * It acts on calls whose path begins with `__probe__/`, whatever the operation. In a workspace with a
 * file of the name `__probe__` every other call makes it crash. */
#ifndef SANDGATE_BROKEN_BROKEN_H
#define SANDGATE_BROKEN_BROKEN_H

#include "work/work.h"

enum broken {
    BROKEN_NOT,    /* an ordinary call */
    BROKEN_ANSWER, /* w->body and reply tell what happened */
    BROKEN_SILENT, /* the gate has been sent whatever it was to be sent */
};

enum broken broken_serve(struct work *w, int gate_fd, uint64_t token,
                         const union op_request *request, struct str body, union op_reply *reply);

#endif
