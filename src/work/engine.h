/* Rust's regex engine with memory set aside for it: it ends the process where an allocation fails. What compiling a pattern
 * and searching with it may need at most is pledged beforehand, and where that cannot be had the call is refused. */
#ifndef SANDGATE_WORK_ENGINE_H
#define SANDGATE_WORK_ENGINE_H

#include <rure.h>

#include "base/err.h"
#include "base/reserve.h"

/* Of one pattern, for all the engines that are made of it. */
struct engine_memory {
    struct pledge pledge; /* for searching */
    size_t cache;         /* what each table that the engine builds while it searches may take */
    size_t size;          /* the largest compiled pattern that the pledge is enough for */
    unsigned threads;     /* that may search at once */
    /* Why the last pattern was not compiled: neither of them means that it is not valid. */
    bool lacks; /* there is no memory for it at the moment */
    bool too_large;
};

/* -1 with ERR_SESSION_BUSY. Where there is little memory, fewer threads than these may search. */
int engine_memory_take(struct engine_memory *memory, unsigned threads, struct err *err);
void engine_memory_done(struct engine_memory *memory);

/* NULL: `error` says why, unless memory->lacks or too_large is set. */
rure *engine_compile(struct engine_memory *memory, struct str pattern, bool ignore_case,
                     rure_error *error);

#endif
