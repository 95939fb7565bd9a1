/* Memory behind descriptors of a process that is told nowhere but in their fdinfo. For a watch without a memory cgroup
 * (cell/watch.h); it allocates nothing. */
#ifndef SANDGATE_CELL_DESCRIPTORS_H
#define SANDGATE_CELL_DESCRIPTORS_H

#include <stdint.h>

/* How many files the epoll sets of a process watch; a set that several processes have counts for each. Stops counting
 * above `enough`. `proc_fd` is /proc. */
uint64_t descriptors_watches(int proc_fd, const char *pid, uint64_t enough);

#endif
