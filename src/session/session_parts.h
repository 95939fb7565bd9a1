/* A session from the inside: for session.c, which runs calls, and session_new.c, which makes and ends one. */
#ifndef SANDGATE_SESSION_SESSION_PARTS_H
#define SANDGATE_SESSION_SESSION_PARTS_H

#include "session/cut_off.h"
#include "session/delayed.h"
#include "session/git_turn.h"
#include "session/host.h"
#include "session/leftover.h"
#include "session/session.h"
#include "session/suspects.h"
#include "session/sweep.h"

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
    char *layer;       /* of an overlay over the first root; NULL: there is none */
    char weaker[512];  /* why its cells are not of the tier full; "": they are */
    char *settings;    /* path of the workspace's own file in the first root; NULL: there is none */
    char tag[16];      /* of this gate's temporary files */
    char cell_tag[32]; /* of those of the cell at hand: a later one must not sweep its own */
    unsigned to_come;  /* calls of its own that come before the cell is open */
    struct pipeline *pipeline; /* whose calls wait for the settings; NULL: none did */
    unsigned failures;         /* of cells to open, one after the other */
    struct buf rules;          /* about files, as the cell was last sent them */
    struct buf own_rules;      /* of those, what nobody configured */
    struct host host;
    struct preview_ask *previews;
    struct review_ask *reviews; /* that wait for a cell */
    struct look *look;          /* NULL: nobody looked at its changes yet */
    struct sweep sweeps[ROOTS_MAX];
    struct leftover *leftovers;
    struct sweep_again *sweep_again; /* NULL: nothing was passed over yet */
    bool moves_known; /* no move to quarantine that was cut off is left, see quarantine_moves.h */
    struct buf moves_told; /* ids of those that could not be ended: each is told once */
    struct commands *commands;
    struct delayed *delayed; /* commands that wait for room to begin */
    bool once;               /* there is one call */
    unsigned scans;          /* on their way */
    bool scan_failed;        /* one of this round */
    bool scan_outward;       /* one of this round found leads out of its root */
    unsigned leads;          /* calls under way that follow these */
    bool leads_lost;         /* one of them failed: they are to be followed again */
    bool scan_vanished;      /* one of this round did not find what was guarded before */
    bool scan_listed;        /* the launcher had a list of all roots before this round */
    bool scan_unsure;        /* the launcher may lack covers for what a list of this cell lacks */
    unsigned scan_tries;     /* rounds that were repeated for that */
    int64_t ran_ns; /* when the first command began since the last scan behind one; 0: none did */
    int64_t unread_told; /* see op_scan_reply */
    bool unjudged;       /* what the last command made was not found out */
    int64_t unjudged_ns; /* when that command began */
    int64_t unjudged_since[ROOTS_MAX];
    uint64_t scan_began_ns;          /* those on their way */
    uint64_t scanned_ns;             /* when the last of them ended; 0: not in this cell */
    uint64_t scanned_from_ns;        /* when it began */
    int64_t guards_known[ROOTS_MAX]; /* which list of guarded files the launcher has; 0: none */
    struct beside *beside;           /* scans while commands run; NULL: none did */
    unsigned commands_ending;        /* that have ended and are not answered yet */
    struct cut_off cut_off;
    struct spills spills;
    struct git_turn git;
    struct role_cells *roles;
    struct suspects suspects;
};

/* One of the session's own operations: they go the same way as a caller's, without the pipeline. `done` frees it. */
struct call *session_own_call(struct session *s, enum op_id op, size_t root, const char *path,
                              void (*done)(struct call *));
void session_send(struct session *s, struct call *call);
/* Has a call of the pipeline done by the open cell. */
void session_start(struct session *s, struct call *call);
/* What can be done for it while the cell starts. */
void session_make_ready(struct call *call);
/* A command for which everything is prepared: from now on it may change files. */
void session_run_command(struct session *s, struct call *call);
/* A prepared call that had to wait for others: now, or when there is a cell. */
void session_go_on(struct session *s, struct call *call);
/* Of its runners: a call waits for the settings, is to be carried out (session.c); is to end, has to end, takes longer than
 * most (session_stop.c). */
void session_expect(struct call *call);
void session_run(struct call *call);
void session_stop(struct call *call);
void session_kill(struct call *call);
void session_late(struct call *call);
/* Has removed what writes left behind (session_sweep.c): the cell is open; the session ends. */
void session_sweep_begin(struct session *s);
/* The cell had this call and is gone: if it was one that removes them, that is done again. */
void session_sweep_lost(struct session *s, const struct call *call);
void session_sweep_done(struct session *s);
/* What its cells, commands and those that are delayed tell the session. */
extern const struct host_owner session_host_owner;
extern const struct commands_events session_command_events;
extern const struct delayed_events session_delayed_events;
/* Finishes a call that waited. */
void session_end_waiting(struct session *s, struct call *call, const struct err *err);

#endif
