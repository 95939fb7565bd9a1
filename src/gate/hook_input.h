/* What a hook's program reads: one JSON object about a call. */
#ifndef SANDGATE_GATE_HOOK_INPUT_H
#define SANDGATE_GATE_HOOK_INPUT_H

#include "core/call.h"

/* Of each text among the arguments; `cut` then says which are longer. */
#define HOOK_TEXT_MAX (64u << 10)
/* Of all of it. */
#define HOOK_INPUT_MAX (4u << 20)

/* {"event","call","tool","dialect","agent","session","workspace","arguments"}, with `after` also "ok", "code" (null: it
 * succeeded) and "durationMs". Where texts were cut: "cut":[{"at":"/content","bytes":100000}]. out->failed: it does not
 * fit. */
void hook_input_write(const struct call *call, bool after, struct buf *out);

#endif
