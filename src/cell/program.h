/* Finding and starting the program of a command, in the command's own process. */
#ifndef SANDGATE_CELL_PROGRAM_H
#define SANDGATE_CELL_PROGRAM_H

#include <sys/types.h>

#include "cell/order.h"

/* RAN_ENDED: it runs as *ret_pid, in a session of its own. Otherwise why not, with the words in *err and for
 * RAN_NO_PROGRAM the kernel's reason in *ret_error. */
enum ran_kind program_start(const struct order *order, const struct order_vectors *vectors,
                            pid_t *ret_pid, int64_t *ret_error, struct err *err);

#endif
