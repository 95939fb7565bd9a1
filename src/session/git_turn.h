/* Commands that may write to git directories take turns: one at a time in a session, and one gate at a time for a
 * workspace, since each works on a layer over the same directories and what two of them take over would not fit
 * together. */
#ifndef SANDGATE_SESSION_GIT_TURN_H
#define SANDGATE_SESSION_GIT_TURN_H

#include "core/call.h"

struct cell;
struct session;

struct git_turn {
    struct buf found[ROOTS_MAX]; /* git directories of each root, see op_layer_next */
    struct call *busy;           /* has the turn */
    struct call *own;            /* makes its layers or takes them over; NULL: neither */
    bool cleaning;               /* leftovers are being removed: nobody has the turn */
    struct call *waiting;        /* by wait_next */
    int lock_fd;
    unsigned number; /* of the next layers */
};

void git_turn_init(struct git_turn *turn);
void git_turn_done(struct git_turn *turn);
/* What a scan found in a root, packed as by op_guarded_add. */
void git_turn_found(struct session *s, size_t root, struct str found);
/* Removes what a gate that died left behind, if it did. */
void git_turn_clean(struct session *s);

/* Starts a command in its layers, now or when its turn comes. False: it needs none. */
bool git_turn_take(struct session *s, struct call *call);
/* A step of command_after. */
bool git_turn_after(struct call *call);
/* True: it waited for its turn, and is finished; or the operation on its layers was asked to stop. */
bool git_turn_cancel(struct session *s, struct call *call);

/* Tells the launcher which layers the command with this token has. */
int git_turn_send(const struct command *command, uint64_t token, struct cell *cell,
                  struct err *err);

#endif
