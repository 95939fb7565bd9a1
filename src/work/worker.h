/* The worker's loop: threads that each take a call from the gate's socket, do it and answer. */
#ifndef SANDGATE_WORK_WORKER_H
#define SANDGATE_WORK_WORKER_H

#include "cell/shelf.h"
#include "cell/spec.h"

/* A worker_fn (cell/launcher.h). Returns when the gate closes the socket. */
int worker_main(int work_fd, const struct cell_spec *spec, const int *roots, struct shelf shelf);

#endif
