/* Looking at the layer of a session: a session of its own, in host mode, whose folders are the project and the layer. Its
 * cell runs no command and mounts no overlay. */
#ifndef SANDGATE_SESSION_REVIEW_H
#define SANDGATE_SESSION_REVIEW_H

#include "session/commit_plan.h"
#include "session/session.h"

/* The roots of such a session. */
enum review_root { REVIEW_PROJECT, REVIEW_LAYER };

/* `reply` has fields and body as long as the callback lasts; NULL: `err` says why there is none. */
typedef void (*review_fn)(void *arg, const struct call *reply, const struct err *err);

/* All call back once. */
/* `since_ns`: what was changed in the project later is in conflict; 0: that is not asked. */
void review_list(struct session *session, int64_t max, int64_t since_ns, review_fn done, void *arg);
void review_diff(struct session *session, const char *path, review_fn done, void *arg);
/* In a session that was made with `commits`, while no cell has the layer mounted: takes the plan's changes over; ends a
 * commit that was cut off. */
void review_commit(struct session *session, const struct commit_plan *plan, review_fn done,
                   void *arg);
void review_recover(struct session *session, review_fn done, void *arg);
/* Of any session: its cell is open, or `err` says why there is none. */
void review_wait_open(struct session *session, review_fn done, void *arg);

/* --- for session.c */

/* The cell is open; there will be none, or it died. */
void review_send_waiting(struct session *session);
void review_fail_waiting(struct session *session, const struct err *err);
void review_forget_all(struct session *session);

#endif
