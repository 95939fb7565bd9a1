/* Mount namespaces of commands that have ended, kept for the next ones: where a thousand files are covered, to make
 * a new one and take it down adds more than half to the time of a command. A command cannot change its mounts, so
 * that one differs from a new one only by what command_mount puts in it. */
#ifndef SANDGATE_CELL_RESTED_H
#define SANDGATE_CELL_RESTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell/spec.h"

/* A spare's, and one for each of a few commands that run side by side. */
#define RESTED_MAX 4

struct rested {
    int mounts[RESTED_MAX];
    size_t n;
    uint64_t covers; /* they all have these: see rested_take */
};

/* Takes over the namespace. It has what was covered at `covers`. 0: it is kept, or closed; -1: this process is in
 * another mount namespace than before and has to end. */
int rested_keep(struct rested *rested, const struct cell_spec *spec, int mounts, uint64_t covers);

/* One that has what is covered now; -1: there is none. */
int rested_take(struct rested *rested, uint64_t covers);

#endif
