/* The sessions that lines name: each is opened when the first call names it, and serves guests as long as it is open. */
#ifndef SANDGATE_FRONT_LINE_SESSIONS_H
#define SANDGATE_FRONT_LINE_SESSIONS_H

#include "gate/gate.h"
#include "session/named.h"

struct line_sessions;

/* `list`: which ones may be named, with commas between them, or `*`; NULL: none. `own`: the gate's own; NULL: that has
 * no name. Both are borrowed. */
struct line_sessions *line_sessions_new(struct gate *gate, const char *list,
                                        const struct named *own);
/* The session of this name, for a call that is submitted in this turn. NULL with an error. */
struct session *line_sessions_use(struct line_sessions *all, const char *id, struct err *err);

/* As those of forward.h, for the guests of all of them. */
void line_sessions_flush(struct line_sessions *all);
bool line_sessions_wind_down(struct line_sessions *all);
void line_sessions_give_up(struct line_sessions *all);
/* Before gate_close, which ends the sessions. */
void line_sessions_free(struct line_sessions *all);

#endif
