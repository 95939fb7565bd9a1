/* Memory behind descriptors of a process that is told nowhere but in their fdinfo. For a watch without a memory cgroup
 * (cell/watch.h); it allocates nothing. */
#ifndef SANDGATE_CELL_DESCRIPTORS_H
#define SANDGATE_CELL_DESCRIPTORS_H

#include <stdint.h>

struct descriptors {
    uint64_t
        epoll_watches; /* files in epoll sets; of a set that several processes have, for each */
    uint64_t inotify;  /* inotify descriptors */
};

/* Adds those of a process. Stops counting once there are more than `enough` watches. `proc_fd` is /proc. */
void descriptors_add(int proc_fd, const char *pid, uint64_t enough, struct descriptors *sum);

#endif
