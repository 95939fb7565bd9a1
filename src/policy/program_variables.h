/* Variables that decide what programs start or how they are configured: `GIT_PAGER`, `NODE_OPTIONS`, `PATH`. A rule about
 * commands does not see what is behind such a value. */
#ifndef SANDGATE_POLICY_PROGRAM_VARIABLES_H
#define SANDGATE_POLICY_PROGRAM_VARIABLES_H

#include <stdbool.h>

#include "base/attr.h"

/* What a value makes a program start that finds the variable. */
enum variable_starts {
    VARIABLE_NOTHING,
    VARIABLE_FILES, /* what lies in a folder, by its name: as good as a script */
    VARIABLE_NAMED, /* what the value names */
    VARIABLE_ANY,   /* it cannot be told */
};

/* `known`: the value is `value`, and not what stands there when the command runs. */
enum variable_starts variable_starts(struct str name, struct str value, bool known);

#endif
