/* Small allocations of our own sizing. They may use the reserve (base/reserve.h); only where that is gone too does running
 * out of memory end the process.
 * Whatever an outsider sizes goes through base/buf.h instead. */
#ifndef SANDGATE_BASE_MEM_H
#define SANDGATE_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/attr.h"

void *mem_zero(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_grow(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_copy(const char *bytes, size_t n) __attribute__((returns_nonnull));
/* NULL for an absent text. */
char *mem_copy_str(struct str text);
char *mem_dup(const char *text);
char *mem_format(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

static inline void mem_freep(void *pointer)
{
    free(*(void **)pointer);
}

#define FREE_AT_END CLEANUP(mem_freep)

#endif
