/* The program a cell begins with: makes its namespaces and mounts, starts and locks the worker, then
 * only waits. It reads nothing but the gate's frames and touches no content. */
#ifndef SANDGATE_CELL_LAUNCHER_H
#define SANDGATE_CELL_LAUNCHER_H

#include "cell/shelf.h"
#include "cell/spec.h"

#define CELL_ARGV0 "sandgate-cell"
/* One that stays in the network of whoever starts it. */
#define CELL_ARGV0_NETWORK "sandgate-cell-net"
#define CELL_CONTROL_FD 3
#define CELL_WORK_FD 4
/* A pair of sockets: each message wakes one more of the worker's threads. Not an eventfd, nor anything whose write the
 * worker could make block: the gate has the sending end too. Nor datagrams, which may be sent to any socket by its name. */
#define CELL_HELP_FD 5
#define CELL_HELP_SEND_FD 6
#define CELL_LAST_FD CELL_HELP_SEND_FD

/* Runs in the worker, already locked; serves `work_fd` until it closes. roots[i] is the open folder of
 * the spec's root i. */
typedef int (*worker_fn)(int work_fd, const struct cell_spec *spec, const int *roots,
                         struct shelf shelf);

/* The main function of a process started as CELL_ARGV0 or, with `network`, as CELL_ARGV0_NETWORK. */
int launcher_main(bool network, worker_fn worker);

#endif
