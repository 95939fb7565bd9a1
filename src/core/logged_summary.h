/* The line that people were asked about, for those who read of it later: without its secrets, and with all that would run. */
#ifndef SANDGATE_CORE_LOGGED_SUMMARY_H
#define SANDGATE_CORE_LOGGED_SUMMARY_H

#include <stdbool.h>

#include "base/buf.h"

/* `shown` is as shown_line has it. False: there is no secret in it, and nothing was written. */
bool logged_summary(struct str shown, struct buf *out);

#endif
