/* What the launcher and the worker tell the gate on the control socket. */
#ifndef SANDGATE_CELL_REPORT_H
#define SANDGATE_CELL_REPORT_H

#include "base/err.h"
#include "cell/frame.h"

/* FRAME_READY, FRAME_FAILED, or FRAME_ENDED with a command's token. `message` may be NULL. `busy`: the machine lacked
 * something that may be there later; a command has then not begun. 0 or -errno. */
int report_send(enum frame_type type, uint64_t token, const char *message, bool busy);
/* FRAME_FAILED with an error; the exit status of a process that ends for it: 1. */
int report_failure(const struct err *err);

#endif
