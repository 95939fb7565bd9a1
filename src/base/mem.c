#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#include "base/reserve.h"

static void *or_abort(void *p)
{
    if (!p)
        abort();
    return p;
}

void *mem_zero(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (p)
        return p;
    RESERVE_OPEN_HERE;
    return or_abort(calloc(1, size ? size : 1));
}

/* Not with reallocarray: libc's own calls its realloc directly, past the reserve. */
void *mem_grow(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count ? count : 1, size, &bytes))
        abort();
    void *p = realloc(old, bytes);
    if (p)
        return p;
    RESERVE_OPEN_HERE;
    return or_abort(realloc(old, bytes));
}

/* The copy has a NUL behind it, so that it can also be used as a C string. */
char *mem_copy(const char *bytes, size_t n)
{
    char *copy = mem_zero(n + 1);
    if (n)
        memcpy(copy, bytes, n);
    return copy;
}

char *mem_copy_str(struct str text)
{
    return text.p ? mem_copy(text.p, text.n) : NULL;
}

char *mem_dup(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

char *mem_format(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    RESERVE_OPEN_HERE;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return or_abort(text);
}
