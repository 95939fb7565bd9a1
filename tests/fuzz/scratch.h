/* A folder of the target's own, removed at its end. */
#ifndef SANDGATE_TESTS_FUZZ_SCRATCH_H
#define SANDGATE_TESTS_FUZZ_SCRATCH_H

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target.h"

static char scratch[200]; /* without links; "": not made */

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline void scratch_remove(const char *path)
{
    nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_end(void)
{
    scratch_remove(scratch);
}

/* In memory, where that is possible: a tmpfs is fast and keeps every time there is. */
static inline void scratch_make(void)
{
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    char made[200];
    snprintf(made, sizeof made, "%.150s/fuzz-XXXXXX", tmp ? tmp : "/tmp");
    char *real = mkdtemp(made) ? realpath(made, NULL) : NULL;
    must(real && strlen(real) < sizeof scratch);
    memcpy(scratch, real, strlen(real) + 1);
    free(real);
    atexit(scratch_end);
}

#endif
