#include "core/role_program.h"

#include <stddef.h>

const struct role_program role_programs[OP_ROLES] = {
    [OP_IN_PARSE] = {.name = "parse"},
};
