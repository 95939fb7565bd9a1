/* Moves to quarantine that are under way. Each is noted in STORE.quarantine/ID.move, which no cell can reach, before the
 * worker is asked for it; the note is locked while its gate lives. Where the gate or its cell is killed meanwhile, the next
 * command of any gate goes on with it: what has the name aside that is noted is moved, and told. */
#ifndef SANDGATE_SESSION_QUARANTINE_MOVES_H
#define SANDGATE_SESSION_QUARANTINE_MOVES_H

#include "core/call.h"
#include "session/quarantine_notes.h"

struct session;

struct quarantine_move {
    int fd;                     /* the note, locked */
    char id[QUARANTINE_ID_MAX]; /* of the entry in quarantine */
    uint64_t device;            /* of the folder that it is moved out of; so is the next */
    uint64_t inode;
    int64_t born_ns; /* -1: not noted */
    struct op_guarded entry;
    char *path; /* that of the entry */
    bool git;
    int64_t since_ns;
    int64_t aside;
};

#define QUARANTINE_MOVES_TOLD_MAX ((size_t)1 << 20)

/* A number that nobody can guess. */
int64_t quarantine_make_number(void);
/* Notes what `own` is to ask for. A note that cannot be written does not keep it from being asked for: what is dangerous is
 * better moved. */
void quarantine_move_begin(struct session *session, struct call *own,
                           const struct op_guarded *entry);
/* It was answered. The note stays where it was cut off: the cell died. */
void quarantine_move_over(struct call *own, bool cut_off);

/* Goes on with those that were cut off. True: an answer is to come. */
bool quarantine_resume_moves(struct session *session, struct call *call);

/* The notes themselves. -errno. */
int quarantine_move_write(const char *store, struct quarantine_move *move);
/* That of a dead gate whose id is the first behind `after`, locked; false: there is none. *unsure becomes true where some
 * could not be looked at. */
bool quarantine_move_next(const char *store, const char *after, struct quarantine_move *ret_move,
                          bool *unsure);
void quarantine_move_done(struct quarantine_move *move);
void quarantine_move_remove(const char *store, const char *id);

#endif
