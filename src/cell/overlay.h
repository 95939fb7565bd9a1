/* Overlays: what lies beneath is only read, and what changes goes to the folder `upper` of a layer, beside which `work` is
 * the kernel's. */
#ifndef SANDGATE_CELL_OVERLAY_H
#define SANDGATE_CELL_OVERLAY_H

#include "cell/mounts.h"

/* Of the open folders `lower` and `layer`, which are mounted somewhere, over `target`. -1 with errno. */
int overlay_mount(int lower, int layer, int target);

/* STEP_OVERLAY. Refuses a folder that anything is mounted in: the overlay would show what lies beneath that. */
int overlay_apply(struct mounting *m, const struct step *step, struct err *err);

void overlay_base_done(struct overlay_base *base);

#endif
