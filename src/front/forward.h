/* Calls for a session that another gate owns: the owner serves them over a socket in the session's
 * folder, others pass their lines on. */
#ifndef SANDGATE_FRONT_FORWARD_H
#define SANDGATE_FRONT_FORWARD_H

#include "dialect/format.h"
#include "front/options.h"
#include "gate/gate.h"
#include "session/named.h"

/* Owner's side: listens until forward_close, for guests of this session. */
struct forward;
int forward_listen(struct forward **ret, struct gate *gate, struct session *session,
                   const struct named *named, struct err *err);
/* There are no guests. */
bool forward_is_idle(const struct forward *forward);
/* Sends what was answered on all connections. */
void forward_flush(struct forward *forward);
/* Takes no more connections and cancels what runs; true once all are answered and gone. */
bool forward_wind_down(struct forward *forward);
/* Drops what connections do not read; after wind_down. */
void forward_give_up(struct forward *forward);
/* After that; run the loop once more before the memory goes. Accepts NULL. */
void forward_close(struct forward *forward);

/* The reason of an error: the session has an owner that may answer later. */
#define FORWARD_SILENT "owner_silent"
/* Or has no place for another guest. */
#define FORWARD_FULL "owner_full"

/* Other side: takes the session, or connects to its owner. 1: this process owns it; 0: *ret_socket
 * leads to the owner; -1: SESSION_BUSY or another error. */
int forward_reach(struct named *named, const struct options *options, bool once, int *ret_socket,
                  struct err *err);
/* Passes standard input on and answers back until both are at their end; the exit status. Calls that the owner did not
 * answer before it ended are answered INTERRUPTED. *ret_again: the owner died and there may be more to come, for which
 * the session is to be taken over. */
int guest_relay(int socket, enum format_id format, const struct dialect *dialect, bool *ret_again);
/* The owner cannot be reached: answers the calls that standard input has by now, or waits for one to come. The exit
 * status; *ret_again: the owner is to be tried again. */
int guest_refuse(enum format_id format, const struct dialect *dialect, const struct err *full,
                 bool *ret_again);
/* Passes one call on and prints its answer: 0 with the exit status; 1: the owner ended before it had the call; -1 with
 * INTERRUPTED: it ended before it answered. */
int forward_one(int socket, enum format_id format, const char *tool, struct str arguments,
                int *ret_status, struct err *err);

#endif
