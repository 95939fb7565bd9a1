/* Limits of each process of a command, by setrlimit. */
#ifndef SANDGATE_CELL_RLIMITS_H
#define SANDGATE_CELL_RLIMITS_H

#include "base/err.h"
#include "cell/order.h"

/* For this process and all that it starts. What the machine allows is never raised. */
int rlimits_set(const struct order *order, struct err *err);

#endif
