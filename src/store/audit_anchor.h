/* Handing a chain's head to a program of the operator's, which keeps it where this user cannot change it. */
#ifndef SANDGATE_STORE_AUDIT_ANCHOR_H
#define SANDGATE_STORE_AUDIT_ANCHOR_H

#include "base/err.h"

#define ANCHOR_DEADLINE_MS 10000

/* What it looks up by a name, in its PATH, HOME or working directory, runs with the gate's rights. */
struct anchor {
    const char *const *argv; /* NULL-ended, the first an absolute path; NULL: there is none */
    const char *path;        /* NULL: the gate's own */
    const char *home;        /* NULL: the gate's own */
};

/* Runs the program with the line on its standard input and waits for it; blocks up to the deadline, then kills it
 * and what it started. It works in /, inherits no descriptors and a small environment. -1 with err unless it exits with 0. */
int anchor_run(const struct anchor *anchor, struct str line, struct err *err);

#endif
