/* Messages to the person at the terminal, on standard error. Only programs' outer parts log;
 * library code returns errors. */
#ifndef SANDGATE_BASE_LOG_H
#define SANDGATE_BASE_LOG_H

#include "base/attr.h"

void log_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* No warnings from here on. */
void log_quiet(void);

#endif
