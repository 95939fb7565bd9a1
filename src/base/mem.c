#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void *or_abort(void *p)
{
    if (!p)
        abort();
    return p;
}

void *mem_zero(size_t size)
{
    return or_abort(calloc(1, size ? size : 1));
}

void *mem_grow(void *old, size_t count, size_t size)
{
    return or_abort(reallocarray(old, count ? count : 1, size));
}

/* The copy has a NUL behind it, so that it can also be used as a C string. */
char *mem_copy(const char *bytes, size_t n)
{
    char *copy = mem_zero(n + 1);
    if (n)
        memcpy(copy, bytes, n);
    return copy;
}

char *mem_dup(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

char *mem_format(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return or_abort(text);
}
