/* `stdio --approver`: whoever writes the lines is told of calls that wait and may approve them.
 *
 * Out: {"event":"approval","requestId","id","tool","summary","detail","rule","expiresAt"} and
 * {"event":"approval_over","requestId","state","by"}. In: {"approve":ID,"scope"?}, {"deny":ID}, `/approve ID`, `/deny ID`.
 * Only a line that is nothing else counts: no field of a call approves. */
#ifndef SANDGATE_FRONT_TALK_APPROVER_H
#define SANDGATE_FRONT_TALK_APPROVER_H

#include "front/lines.h"

struct talk_approver;

/* The caller's id of a call of these lines, as JSON; NULL: it is not one of theirs. `call` is the audit log's name. */
typedef const char *talk_id_of(void *arg, const char *call);

struct talk_approver *talk_approver_start(struct gate *gate, struct lines *lines, talk_id_of *id_of,
                                          void *arg);
/* Accepts NULL. */
void talk_approver_free(struct talk_approver *approver);

/* Whether the line is an approver's; with an approver it is then done. */
bool talk_approver_take(struct talk_approver *approver, struct str line);

#endif
