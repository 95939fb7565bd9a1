/* What every target has: its entry, and a check that holds in every build. */
#ifndef SANDGATE_TESTS_FUZZ_TARGET_H
#define SANDGATE_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must_at(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

#define must(what) must_at((what), #what, __FILE__, __LINE__)

#endif
