/* Whether a git directory has an object, by its name alone. */
#ifndef SANDGATE_WORK_GIT_HAS_H
#define SANDGATE_WORK_GIT_HAS_H

#include <stdbool.h>

#include "base/attr.h"

/* As a file of its own or in the index of a pack. Alternates are not looked into. `id` is of hex digits in small letters,
 * as git_is_id says. */
bool git_has_object(int git, struct str id);

#endif
