/* Memory that a gate and the worker of its cell share, for long replies: the worker reads a file right into it and says
 * where it lies, in the place of sending the bytes through a socket. One reply at a time has it, until the gate has
 * taken that and gives the shelf back (FRAME_SHELF).
 *
 * The worker can change it at any moment, also while the gate reads. So the gate takes a copy, piece by piece, looks
 * only at the copy, and looks at nothing twice. */
#ifndef SANDGATE_CELL_SHELF_H
#define SANDGATE_CELL_SHELF_H

#include <stdint.h>

#include "base/buf.h"

#define SHELF_BYTES (2u << 20)

struct shelf {
    char *at; /* NULL: there is none */
};

/* What lies on it; as the body of a FRAME_SHELVED. */
struct shelved {
    uint32_t at;
    uint32_t n;
};

/* The gate's: it can only read. *ret_fd is for the worker. 0 or -errno. */
int shelf_make(struct shelf *ret, int *ret_fd);
/* The worker's. */
int shelf_map(int fd, struct shelf *ret);
void shelf_done(struct shelf *shelf);

/* Where it lies, if that is on the shelf. 0 or -1. */
int shelved_read(struct str body, struct shelved *ret);
/* Copies as much of it as goes into `buffer`, and goes on to the rest. Empty at the end. */
struct str shelved_next(const struct shelf *shelf, struct shelved *rest, char *buffer, size_t size);

#endif
