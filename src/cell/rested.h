/* Mount namespaces of commands that have ended, kept for the next ones: where a thousand files are covered, to make
 * a new one and take it down adds more than half to the time of a command. A command cannot change its mounts, so
 * that one differs from a new one only by what command_mount puts in it. */
#ifndef SANDGATE_CELL_RESTED_H
#define SANDGATE_CELL_RESTED_H

#include "cell/points.h"

/* A spare's, and one for each of a few commands that run side by side. */
#define RESTED_MAX 4

struct rested_one {
    int mounts; /* -1: there is none */
    int64_t points;
};

struct rested {
    struct rested_one all[RESTED_MAX];
    size_t n;
};

/* 1: the namespace, whose covers are the current ones, is kept, and its points with it; 0: it is not; -1: this process is in another mount namespace than before and has to end. */
int rested_keep(struct rested *rested, const struct cell_spec *spec, int *mounts, int64_t points);
struct rested_one rested_take(struct rested *rested);
/* Something is covered that these do not cover. At once: a command that runs may have a descriptor of a folder that is
 * mounted there. */
void rested_clear(struct rested *rested, struct points *points);

#endif
