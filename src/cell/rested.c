#include "cell/rested.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/command_view.h"

static void clear(struct rested *rested)
{
    while (rested->n)
        close(rested->mounts[--rested->n]);
}

static void expect(struct rested *rested, uint64_t covers)
{
    if (rested->covers != covers)
        clear(rested);
    rested->covers = covers;
}

int rested_keep(struct rested *rested, const struct cell_spec *spec, int mounts, uint64_t covers)
{
    FD_AT_END int kept = mounts;
    struct err err;
    expect(rested, covers);
    FD_AT_END int own = rested->n < RESTED_MAX ? open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)
                                               : -1;
    if (own < 0 || setns(kept, CLONE_NEWNS) < 0)
        return 0;
    /* Now, and not when it is needed: what the command left in its /tmp is memory. */
    int r = command_unmount(spec, &err);
    if (setns(own, CLONE_NEWNS) < 0)
        return -1;
    if (r == 0)
        rested->mounts[rested->n++] = TAKE_FD(kept);
    return 0;
}

int rested_take(struct rested *rested, uint64_t covers)
{
    expect(rested, covers);
    return rested->n ? rested->mounts[--rested->n] : -1;
}
