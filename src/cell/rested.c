#include "cell/rested.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/command_view.h"

int rested_keep(struct rested *rested, const struct cell_spec *spec, int *mounts, int64_t points)
{
    struct err err;
    FD_AT_END int own = rested->n < RESTED_MAX ? open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)
                                               : -1;
    if (own < 0 || setns(*mounts, CLONE_NEWNS) < 0)
        return 0;
    /* Now, and not when it is needed: what the command left in its /tmp is memory. */
    int r = command_unmount(spec, points, &err);
    if (setns(own, CLONE_NEWNS) < 0)
        return -1;
    if (r < 0)
        return 0;
    rested->all[rested->n++] = (struct rested_one){TAKE_FD(*mounts), points};
    return 1;
}

struct rested_one rested_take(struct rested *rested)
{
    return rested->n ? rested->all[--rested->n] : (struct rested_one){.mounts = -1};
}

void rested_clear(struct rested *rested, struct points *points)
{
    while (rested->n) {
        struct rested_one one = rested_take(rested);
        points_remove(points, one.points);
        close(one.mounts);
    }
}
