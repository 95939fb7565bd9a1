/* What a cell enforces, from what it is made of. */
#ifndef SANDGATE_CELL_TIER_H
#define SANDGATE_CELL_TIER_H

#include "cell/limits.h"
#include "cell/spec.h"
#include "core/tier.h"

/* Of a cell with all that plan_make (cell/plan.h) puts in. Its limits are not known before commands have groups. */
struct tier tier_of_full_cell(int landlock);
/* Of one without namespaces. It starts no commands: nothing is said of what holds for these. */
struct tier tier_of_landlock_cell(int landlock);
/* Of this one. */
struct tier tier_of_cell(const struct cell_spec *spec);
/* By what this limit of commands is held. */
enum means tier_limit(const struct limits *l, enum limit_kind kind);

#endif
