/* What the cell of a session is to be, from the session's options. */
#ifndef SANDGATE_SESSION_MAKE_SPEC_H
#define SANDGATE_SESSION_MAKE_SPEC_H

#include "session/session.h"

/* *ret is to be given to spec_done on failure too. */
int make_spec(const struct session_options *options, struct cell_spec *ret, struct err *err);

/* The folder of stores in the state folder. In it a link stands for each workspace, whose name is `root.`, a uid and the
 * suffix below. */
#define MAKE_SPEC_STORES "workspaces"
#define MAKE_SPEC_ROOT_MAX 64
/* Which folder it is. False: the file system has no times of birth, and a number alone may be another folder's by now. */
bool make_spec_root_suffix(const char *folder, char suffix[MAKE_SPEC_ROOT_MAX]);

#endif
