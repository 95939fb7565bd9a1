/* The only interface of a cell. */
#ifndef SANDGATE_CELL_LOOPBACK_H
#define SANDGATE_CELL_LOOPBACK_H

#include "base/err.h"

/* A network namespace begins with one that is down. */
int loopback_raise(struct err *err);

#endif
