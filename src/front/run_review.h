/* `sandgate run --review`: the command works in a session with an overlay, and its user decides at the end what becomes of
 * what it changed. */
#ifndef SANDGATE_FRONT_RUN_REVIEW_H
#define SANDGATE_FRONT_RUN_REVIEW_H

#include "front/options.h"
#include "gate/gate.h"

/* Runs a command in a gate of its own; its exit status. */
typedef int (*run_fn)(const struct options *o, const struct gate_options *go);

int run_review(const struct options *o, run_fn run);

#endif
