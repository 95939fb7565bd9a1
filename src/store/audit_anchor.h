/* Handing a chain's head to a program of the operator's, which keeps it where this user cannot change it. */
#ifndef SANDGATE_STORE_AUDIT_ANCHOR_H
#define SANDGATE_STORE_AUDIT_ANCHOR_H

#include "base/err.h"

#define ANCHOR_DEADLINE_MS 10000

/* Runs the program with the line on its standard input and waits for it; blocks up to the deadline, then kills it
 * and what it started. It inherits no descriptors and a small environment. -1 with err unless it exits with 0. */
int anchor_run(const char *const *argv, struct str line, struct err *err);

#endif
