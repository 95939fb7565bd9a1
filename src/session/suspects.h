/* New repositories that were judged to be harmless while other commands ran. One of these can have opened a file of it before
 * it was covered, and hand the descriptor on: it is judged again whenever a command has ended, until none runs. */
#ifndef SANDGATE_SESSION_SUSPECTS_H
#define SANDGATE_SESSION_SUSPECTS_H

#include "base/buf.h"
#include "core/call.h"
#include "core/op_packed.h"

struct session;

struct suspects {
    struct buf all;   /* as quarantine_add packs them */
    int64_t since_ns; /* when the first of the commands that made them began */
};

void suspects_init(struct suspects *suspects);
void suspects_done(struct suspects *suspects);
/* A command that began at `since_ns` has made it. */
void suspects_note(struct session *s, size_t root, const struct op_guarded *entry,
                   int64_t since_ns);
/* What a scan has found in a root: where the suspects are now, since a command can move a folder around one. */
void suspects_found(struct session *s, size_t root, struct str found);
/* Those that are to be judged now that a command has ended, and been looked for. */
void suspects_give(struct session *s, struct call *call);

#endif
