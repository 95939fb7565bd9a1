/* What the cell of a session is to be, from the session's options. */
#ifndef SANDGATE_SESSION_MAKE_SPEC_H
#define SANDGATE_SESSION_MAKE_SPEC_H

#include "session/session.h"

/* *ret is to be given to spec_done on failure too. */
int make_spec(const struct session_options *options, struct cell_spec *ret, struct err *err);

#endif
