/* Which programs are shells: what stands behind their -c, or comes over their input, are commands. */
#ifndef SANDGATE_CORE_SHELLS_H
#define SANDGATE_CORE_SHELLS_H

#include <stdbool.h>

#include "base/attr.h"

/* A program's name, with its folder or without. */
bool shells_have(struct str program);

#endif
