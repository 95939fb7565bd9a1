/* What a person says of one command on the command line, beyond the configuration. */
#ifndef SANDGATE_GATE_EXTRA_H
#define SANDGATE_GATE_EXTRA_H

#include "core/config.h"

struct gate_extra {
    const char *const *show; /* absolute paths: as commands.show */
    size_t n_show;
    const char *const
        *rw; /* absolute paths of folders that commands may change, besides the workspace */
    size_t n_rw;
    const char *memory; /* as commands.memory; NULL: as configured */
};

/* Lays it over the configuration; NULL is none. What may not be shown or used is refused or left out as in the
 * configuration. */
int extra_apply(const struct gate_extra *extra, struct config *config, struct err *err);

#endif
