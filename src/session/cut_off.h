/* Commands that were cut off before what they made was judged: their gate was killed, their cell died, or the scan behind
 * them failed and the gate ended. A marker (marker.h) stays until all was judged and told. A later scan, of this gate's next
 * cell or of another gate, compares with the marker's indexes; what was made since is told with the next command. */
#ifndef SANDGATE_SESSION_CUT_OFF_H
#define SANDGATE_SESSION_CUT_OFF_H

#include <uv.h>

#include "core/call.h"
#include "session/marker.h"

struct session;

struct cut_off {
    struct marker marker;
    bool marked;                    /* the marker is set */
    unsigned marked_in;             /* the number of the cell that its indexes are of */
    unsigned group_of;              /* and of the cell whose processes the marker names */
    int64_t generations[ROOTS_MAX]; /* of the lists that the marker's indexes stand for */
    bool pending;                   /* the next scans compare with the marker's indexes */
    bool comparing;                 /* those on their way do */
    uint64_t made;                  /* since these: to be told with the next command */
    struct buf innocent; /* the same as lists of struct command_after: not made by any of them */
    struct buf unsure;   /* packed layers: protected, and whether they are new cannot be told */
    uint64_t dying_ns; /* since when processes of a dead gate's cell are waited for; 0: none are */
    bool waiting;      /* for the timer, which looks again */
    uv_timer_t *timer; /* NULL: there was nothing to wait for yet */
};

void cut_off_init(struct cut_off *cut_off);
/* The folders of the session are known. Without a store there are no markers. */
void cut_off_use_store(struct session *session);
/* The marker stays if something was not judged. */
void cut_off_done(struct session *session);

/* A command is about to start: from now on there is a marker. */
int cut_off_mark(struct session *session, struct err *err);
/* A command is to start soon: looks for markers of gates that are dead. If there is one, scans come first (`pending`).
 * 1: the command may go on. 0: processes of such a gate have not ended yet, so it has to wait; host_go_on follows. */
int cut_off_look(struct session *session, struct err *err);
/* Scans are about to start; one of them is about to be sent. */
void cut_off_begin(struct session *session);
void cut_off_compare(struct session *session, struct call *scan);
/* What it found; when those of all roots are there. */
void cut_off_take(struct session *session, const struct call *scan);
void cut_off_compared(struct session *session);
/* Whether an entry that is new to the marker's indexes was made after the machine was started anew. */
bool cut_off_is_innocent(const struct session *session, size_t root,
                         const struct op_guarded *entry);
/* Behind a command whose scans did not fail: adds what it is to tell of others. */
void cut_off_tell(struct session *session, struct call *call);
/* A command is about to be answered: if no other runs and all was judged, the marker rests. */
void cut_off_settle(struct session *session);
/* What the scans of this cell knew is gone. */
void cut_off_cell_died(struct session *session);

#endif
