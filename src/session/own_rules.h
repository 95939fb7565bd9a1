/* Rules about files that nobody configured: what the user's own programs run or obey in the workspace because of something
 * outside of it. */
#ifndef SANDGATE_SESSION_OWN_RULES_H
#define SANDGATE_SESSION_OWN_RULES_H

#include "cell/spec.h"

/* Packed as guard_pack does: the program of this gate, where it lies in a folder of the session, and what the user's own git
 * configuration names there (core.hooksPath, include.path, programs by a path). */
void own_rules_add(const struct cell_spec *spec, struct buf *out);

#endif
