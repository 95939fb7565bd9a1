/* Starting the process that becomes a cell. */
#ifndef SANDGATE_CELL_CELL_SPAWN_H
#define SANDGATE_CELL_CELL_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* It waits for its specification; these are the gate's ends of its sockets. */
struct cell_process {
    pid_t pid; /* and that of the group of processes, to which the launcher belongs as well */
    int control;
    int work;
    int help;
};

/* The one that was prepared, or a new one; one in this process's network is always new. 0 or -errno. */
int cell_spawn(bool network, struct cell_process *ret);
/* Kills it, with the launcher that it may have started, and waits for both. Nothing where there is none. */
void cell_process_end(struct cell_process *process);

#endif
