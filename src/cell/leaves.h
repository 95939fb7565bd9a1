/* A command that may start a few programs and nothing else, by Landlock's right to execute. */
#ifndef SANDGATE_CELL_LEAVES_H
#define SANDGATE_CELL_LEAVES_H

#include "base/err.h"
#include "base/json.h"

/* Makes the set of rules for this process, before its filter refuses that. Without it leaves_allow fails. */
void leaves_prepare(void);
/* The files that may be started: `program`, what these names mean along PATH, and what the kernel needs to start them
 * (the loader; a shell for a script). */
int leaves_allow(const char *program, const struct str *names, size_t n, const char *path,
                 struct err *err);
/* From here on nothing else can be started. Safe after vfork. -1 with errno. */
int leaves_enter(void);

#endif
