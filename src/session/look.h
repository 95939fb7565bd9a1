/* Calls about what their session has changed. In the session's own cell the layer is mounted, so it is read in a second one
 * (review.h), which the first such call starts. One call at a time. */
#ifndef SANDGATE_SESSION_LOOK_H
#define SANDGATE_SESSION_LOOK_H

#include "session/session.h"

/* The pipeline's runner for RUN_SESSION. */
void look_begin(struct call *call);
void look_cancel(struct call *call);
void look_kill(struct call *call);
void look_late(struct call *call);

/* For session.c. Accepts NULL. */
struct look;
void look_free(struct look *look);

#endif
