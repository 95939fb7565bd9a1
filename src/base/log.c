#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/shown.h"

#define LINE_MAX_BYTES 8192

/* Messages hold names of files and keys: whatever is in them, it is one line and does nothing to a terminal. */
static void PRINTF_LIKE(2, 0) put_log_line(const char *level, const char *fmt, va_list ap)
{
    char text[LINE_MAX_BYTES];
    BUF_AT_END struct buf shown = BUF_INIT(8 * (size_t)LINE_MAX_BYTES);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    struct str line = {text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1};
    if (!shown_is_fit(line, false)) {
        shown_line(line, 8 * (size_t)LINE_MAX_BYTES, &shown);
        line = buf_str(&shown);
    }
    fprintf(stderr, "sandgate: %s%.*s\n", level, (int)line.n, line.p);
}

void log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_log_line("", fmt, ap);
    va_end(ap);
}

static bool quiet;

void log_quiet(void)
{
    quiet = true;
}

void log_warning(const char *fmt, ...)
{
    va_list ap;
    if (quiet)
        return;
    va_start(ap, fmt);
    put_log_line("warning: ", fmt, ap);
    va_end(ap);
}
