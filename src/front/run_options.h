/* What the options of `sandgate run` come to: paths that are there, times, the command's arguments. */
#ifndef SANDGATE_FRONT_RUN_OPTIONS_H
#define SANDGATE_FRONT_RUN_OPTIONS_H

#include "core/call.h"
#include "front/options.h"
#include "gate/extra.h"

struct run_options {
    struct gate_extra extra;
    int64_t timeout_ms; /* 0: none */
    char *show[OPTION_TIMES_MAX];
    char *rw[OPTION_TIMES_MAX];
};

int run_options_read(const struct options *options, struct run_options *ret, struct err *err);
void run_options_done(struct run_options *options);
/* The call's arguments. */
int run_options_call(const struct options *options, struct call *call, struct err *err);

#endif
