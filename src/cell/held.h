/* Memory that no process maps and no tmpfs of the command holds, found by asking the kernel: System V objects and
 * socket buffers. For a watch without a memory cgroup (cell/watch.h); it allocates nothing. */
#ifndef SANDGATE_CELL_HELD_H
#define SANDGATE_CELL_HELD_H

#include <stdbool.h>
#include <stdint.h>

/* Of this process's ipc namespace, in which so many processes may each have to undo what they did to semaphores.
 * `proc_fd` is /proc. */
uint64_t held_by_ipc(int proc_fd, uint32_t processes);

/* A socket to ask about sockets, or -errno. To be opened before the command's filter is
 * loaded, which refuses it. */
int held_open(void);
/* Of all sockets in this process's network namespace, which a session's commands share. Stops counting once the sum is
 * over `enough`; 0 is never. What a closed unix socket sent and nobody read is an estimate. False: there may be more,
 * of which the kernel did not tell. */
bool held_by_sockets(int fd, int proc_fd, uint64_t enough, uint64_t *ret_bytes);

#endif
