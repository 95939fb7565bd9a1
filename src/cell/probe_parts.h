/* What the files of cell/probe.h share. */
#ifndef SANDGATE_CELL_PROBE_PARTS_H
#define SANDGATE_CELL_PROBE_PARTS_H

#include "cell/mechanisms.h"

/* Finds out why a mechanism that was tried is missing, and what mends it. Those before it were tried and explained. */
void probe_explain(enum mechanism m, struct findings *f);

#endif
