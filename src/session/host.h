/* A cell and the calls in its hands, for whoever has one: it is started when a call needs it, sorts in what comes back,
 * and is replaced when it dies. What is done before the first call, and how a call begins, its owner knows. */
#ifndef SANDGATE_SESSION_HOST_H
#define SANDGATE_SESSION_HOST_H

#include <uv.h>

#include "cell/cell.h"
#include "core/call.h"
#include "session/flight.h"
#include "session/shelving.h"
#include "session/turns.h"

enum host_state {
    HOST_EMPTY,   /* there is no cell */
    HOST_OPENING, /* it starts; what its owner wants done first is under way */
    HOST_OPEN,
};

struct host_owner {
    /* A cell starts: what has to come before all calls is sent now. host_open follows. */
    void (*opening)(void *owner);
    /* NULL, or as in cell/cell.h. */
    int (*spawned)(void *owner, pid_t group, struct err *err);
    /* A call that waited goes on: the cell is open. */
    void (*go_on)(void *owner, struct call *call);
    /* A call that waited is given up. */
    void (*give_up)(void *owner, struct call *call, const struct err *err);
    /* A call that was sent has its reply, or `err` says why not. */
    void (*replied)(void *owner, struct call *call, const struct err *err);
    /* A call that was sent comes back, since the cell never had it: it waits for the next one. */
    void (*came_back)(void *owner, struct call *call);
    /* A command's first process ended without its account (FRAME_ENDED), or never began. */
    void (*command_ended)(void *owner, const struct frame *frame);
    /* The cell is gone. Each call that it had is then told of by `lost`, and finished or freed. At last `died` says
     * whether the owner needs another cell for what is not among the calls that wait. */
    void (*gone)(void *owner);
    void (*lost)(void *owner, struct call *call);
    bool (*died)(void *owner, const struct err *err);
    /* No cell of this tier can start here. Whether a weaker one may be tried: its specification is that of one then. */
    bool (*weaken)(void *owner);
    /* There is none to be had: what `died` asked one for is given up. */
    void (*no_cell)(void *owner, const struct err *err);
};

struct host {
    uv_loop_t *loop;
    const struct cell_spec *spec; /* of the cells; the owner's */
    const struct host_owner *functions;
    void *owner;
    bool once;   /* there is one call */
    bool served; /* a cell was open: none is weaker than that */
    enum host_state state;
    struct cell *cell;
    unsigned cells; /* so many were started */
    struct shelving shelving;
    struct flight flight;
    struct turns turns;   /* those that are to be sent when others are back */
    bool several;         /* callers, when the last call came */
    struct call *waiting; /* for HOST_OPEN */
    struct call **waiting_end;
};

void host_init(struct host *h, uv_loop_t *loop, const struct cell_spec *spec,
               const struct host_owner *functions, void *owner);
/* Ends the cell. The calls that it has are the owner's again: `lost` is told of each before it is freed. */
void host_done(struct host *h);

/* Starts a cell where there is none. */
int host_begin(struct host *h, struct err *err);
/* What had to come first is done: the calls that wait go on. */
void host_open(struct host *h);
/* Sends a call, whose reply's body may have so many bytes, to the cell; one of the pipeline's when it is its turn. */
void host_send(struct host *h, struct call *call, size_t reply_max);
/* Asks the cell to stop at a call that was sent. */
void host_cancel(struct host *h, const struct call *call);
/* A call takes longer than most: others are not to wait for it. */
void host_help(struct host *h);
/* Ends the cell; `gone` and what follows it come in a later turn. */
void host_kill(struct host *h, const char *why);

/* Puts a call behind those that wait. */
void host_wait(struct host *h, struct call *call);
/* Takes a call out of those that wait; false: it is not among them. */
bool host_unwait(struct host *h, struct call *call);
/* The same of those that were to be sent; its owner hears that it came back. */
bool host_unsend(struct host *h, struct call *call);
/* The calls that wait go on, or are given up. */
void host_go_on(struct host *h);
void host_give_up(struct host *h, const struct err *err);

#endif
