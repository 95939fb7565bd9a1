/* Shared by pipeline.c, which takes the turns, and pipeline_enter.c, which lets calls in. */
#ifndef SANDGATE_CORE_PIPELINE_PARTS_H
#define SANDGATE_CORE_PIPELINE_PARTS_H

#include "core/pipeline.h"

/* The edition of the settings that hold for it now. */
uint64_t pipeline_settings_of(const struct call *call);
/* Charges what came in since it was done last and lets it begin. */
void pipeline_charge_all(struct pipeline *p);
/* Gives it to its runner. */
void pipeline_dispatch(struct pipeline *p, struct call *call);
/* It goes on when the settings of its workplace are known. */
void pipeline_await_settings(struct pipeline *p, struct call *call);

#endif
