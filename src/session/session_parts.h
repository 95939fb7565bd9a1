/* A session from the inside: for session.c, which runs calls, and session_new.c, which makes and ends one. */
#ifndef SANDGATE_SESSION_SESSION_PARTS_H
#define SANDGATE_SESSION_SESSION_PARTS_H

#include "session/flight.h"
#include "session/leftover.h"
#include "session/session.h"
#include "session/sweep.h"

enum session_state {
    NO_CELL,
    OPENING, /* the cell starts; the workspace's own settings are being read */
    OPEN,
};

struct session {
    struct workplace workplace;
    uv_loop_t *loop;
    struct root roots[ROOTS_MAX];
    struct root command_roots[ROOTS_MAX];
    const struct config *operator_config;
    struct config *config; /* with the workspace's own file laid over it */
    struct cell_spec spec;
    int state_fd;
    char *id;
    char *base;
    char *command_base;
    char *settings;    /* path of the workspace's own file in the first root; NULL: there is none */
    char tag[16];      /* of this gate's temporary files */
    char cell_tag[32]; /* of those of the cell at hand: a later one must not sweep its own */
    unsigned cells;
    enum session_state state;
    unsigned to_come; /* calls of its own that come before the cell is open */
    struct buf rules; /* about files, as the cell was last sent them */
    struct cell *cell;
    struct flight flight;
    struct call *waiting; /* for OPEN */
    struct call **waiting_end;
    struct sweep sweeps[ROOTS_MAX];
    struct leftover *leftovers;
    struct commands *commands;
    struct spills spills;
};

#endif
