/* What a role's own program is loaded from: itself, its loader and its libraries. */
#ifndef SANDGATE_CELL_PROGRAM_FILES_H
#define SANDGATE_CELL_PROGRAM_FILES_H

#include "cell/spec.h"

/* Asks the program's own loader. Refuses what others than root and this user could change (base/trusted.h). */
int program_files_add(struct cell_spec *spec, struct err *err);

#endif
