/* The mount points of the folders that commands have, one set for each command's mount namespace. When its command has
 * ended they are removed, which takes the folders off whole, with all that covers parts of them: who got a descriptor of
 * one still finds it covered, and opens nothing with it (landlock_stay_connected). A namespace that ends by itself would
 * take the covers off first. */
#ifndef SANDGATE_CELL_POINTS_H
#define SANDGATE_CELL_POINTS_H

#include "cell/mounts.h"

struct points {
    int folder; /* PLAN_POINTS, writable */
    uint64_t last;
    size_t each; /* in a set */
};

/* -1 with errno. */
int points_init(struct points *points, const struct cell_spec *spec);
/* The number of a new set, or -errno. */
int64_t points_make(struct points *points);
/* Ends this process, and so the cell, where that fails. */
void points_remove(struct points *points, int64_t number);
/* In a command's mount namespace: mounts its folders that lie in `in` at their points. */
int points_use(const struct cell_spec *spec, int64_t number, const char *in, struct err *err);

#endif
