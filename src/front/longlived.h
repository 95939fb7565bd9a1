/* A gate that lives as long as its standard input: `stdio` and `mcp`. */
#ifndef SANDGATE_FRONT_LONGLIVED_H
#define SANDGATE_FRONT_LONGLIVED_H

#include "front/line_sessions.h"
#include "front/lines.h"
#include "session/named.h"

/* Makes the lines between standard input and output; `how` is the front's own. */
typedef struct lines *longlived_start(struct gate *gate, struct line_sessions *sessions,
                                      const void *how, int in_fd, int out_fd,
                                      void (*ended)(void *arg), void *arg);

/* Opens a gate, serves until the input is at its end or a signal comes, closes it; the exit status.
 * With `named` (NULL: none), a session of this process, other gates are served as well. `sessions`: see
 * line_sessions_new. */
int longlived_run(const struct gate_options *options, const struct named *named,
                  const char *sessions, longlived_start *start, const void *how);

#endif
