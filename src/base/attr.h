/* Ownership helpers: scoped cleanup, and the only two ways ownership moves. */
#ifndef SANDGATE_BASE_ATTR_H
#define SANDGATE_BASE_ATTR_H

#include <stddef.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NOINLINE __attribute__((noinline))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define TAKE_PTR(ptr)                                                                              \
    __extension__({                                                                                \
        __typeof__(ptr) *take_from_ = &(ptr);                                                      \
        __typeof__(ptr) taken_ = *take_from_;                                                      \
        *take_from_ = NULL;                                                                        \
        taken_;                                                                                    \
    })

#define TAKE_FD(fd)                                                                                \
    __extension__({                                                                                \
        int *take_from_ = &(fd);                                                                   \
        int taken_ = *take_from_;                                                                  \
        *take_from_ = -1;                                                                          \
        taken_;                                                                                    \
    })

/* A borrowed run of bytes. `p` is NULL when absent; never assume a NUL behind it. */
struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
/* The same where only constants may stand: in the initialiser of a static table. */
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

#endif
