/* The last step before a process of the cell sees a byte of content: no capabilities, no way to gain
 * any, only the folders it was given, only the system calls it needs. There is no way back. */
#ifndef SANDGATE_CELL_LOCK_H
#define SANDGATE_CELL_LOCK_H

#include "cell/landlock.h"

int lock_worker(const struct landlock_rule *rules, size_t count, struct err *err);

#endif
