/* A session's cells for roles that are programs of their own (core/role_program.h). Each is started when a call needs it,
 * and stays until the session ends. */
#ifndef SANDGATE_SESSION_ROLE_CELLS_H
#define SANDGATE_SESSION_ROLE_CELLS_H

#include <limits.h>

#include "session/host.h"

/* Finds a role's program, out of reach of who works there. `path` has room for PATH_MAX bytes. */
typedef int (*role_program_fn)(const struct workplace *at, const char *name, char *path,
                               struct err *err);

struct role_cells;

/* For calls of this workplace. */
struct role_cells *role_cells_new(uv_loop_t *loop, const struct workplace *at,
                                  role_program_fn find);
/* Ends them. No call may be in their hands. Accepts NULL. */
void role_cells_free(struct role_cells *cells);

/* Does a prepared call: its operation says which role. What the pipeline's runner does (core/pipeline.h). */
void role_cells_start(struct role_cells *cells, struct call *call);
void role_cells_cancel(struct role_cells *cells, struct call *call);
void role_cells_kill(struct role_cells *cells, struct call *call);
/* For tests: the process group of a role's cell; 0: there is none. */
pid_t role_cells_group(const struct role_cells *cells, enum op_role role);

#endif
