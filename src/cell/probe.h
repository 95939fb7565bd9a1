/* Tries each mechanism of cell/mechanisms.h, in a process of its own, as a cell would use it.
 *
 * The processes are started from the program anew, like a cell: nothing of the gate's memory is in them, and what they
 * find is not what a process finds that is closed to others. Takes some 10 ms; a gate that starts as usual does none of
 * it. */
#ifndef SANDGATE_CELL_PROBE_H
#define SANDGATE_CELL_PROBE_H

#include "base/err.h"
#include "cell/mechanisms.h"

/* The first word of a program that is to try, and what it then does. The exit status. */
#define PROBE_ARGV0 "sandgate-probe"
int probe_main(void);

/* Waits for the answer. `ret` is whole also where there is none: nothing is there then, and the cause says why. */
int probe_all(struct findings *ret, struct err *err);

/* What was found before under the same circumstances (boot, kernel, user, namespaces, filter) and kept in the state folder;
 * false: there is none. Where something was missing it may be there by now. */
bool probe_kept(int state_fd, struct findings *ret);
/* Tries, and keeps what is found. state_fd < 0: it is not kept. */
int probe_anew(int state_fd, struct findings *ret, struct err *err);

/* For an error: "CAUSE; run: FIX" of the first mechanism that is missing for any cell, or else for one of the full tier where
 * `need` is more than a cell, or else for `need`. False: none is, or it is not known. Tries at most once in five seconds. */
bool probe_cause(enum need need, char *out, size_t size);

#endif
