/* Errors of steps that set a cell up, from errno. All return -1. */
#ifndef SANDGATE_CELL_FAILED_H
#define SANDGATE_CELL_FAILED_H

#include <errno.h>
#include <string.h>

#include "base/err.h"

static inline int cell_failed(struct err *err, const char *what)
{
    return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE), "%s: %s", what,
                   strerror(errno));
}

static inline int cell_failed_at(struct err *err, const char *what, const char *path)
{
    return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE), "%s %.200s: %s", what, path,
                   strerror(errno));
}

#endif
