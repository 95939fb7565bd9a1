#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void PRINTF_LIKE(2, 0) put(const char *level, const char *fmt, va_list ap)
{
    fprintf(stderr, "sandgate: %s", level);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put("", fmt, ap);
    va_end(ap);
}

void log_warning(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put("warning: ", fmt, ap);
    va_end(ap);
}
