/* The gate: everything that decides, put together on one event loop. */
#ifndef SANDGATE_GATE_GATE_H
#define SANDGATE_GATE_GATE_H

#include <uv.h>

#include "core/pipeline.h"
#include "gate/extra.h"
#include "gate/keeper.h"
#include "gate/record.h"
#include "session/session.h"

struct gate_options {
    const struct dialect *dialect;
    const char *config_file; /* NULL: the usual places */
    const char *workspace;   /* NULL: the working directory */
    const char *project;     /* toolhost's mounts; NULL: not there */
    const char *pkg;
    const char *state;
    const char *agent;
    const char *tool_parent; /* where the folder of a further tool lies */
    const char *tool_name;   /* and what that is called; NULL: there is none */
    const char *session; /* NULL: one without a name */
    const char *layer;   /* where changes of an overlay session lie; NULL: it is in host mode */
    bool overlay;        /* it is an overlay session, be it that the layer is not used */
    bool review;         /* that layer is only looked at, see session/review.h */
    bool commits;        /* and taken over: with `review` */
    const struct gate_extra *extra; /* of the command line, for commands; NULL: nothing */
    bool commands;       /* some call may run one */
    bool once;           /* there is one call */
    bool own_hand;       /* a person typed it */
    bool mcp;            /* calls come over MCP */
    bool needs_layer;    /* nothing is served where that cannot be mounted */
    bool show_system;    /* tests: the machine's programs and settings are visible in the cell */
};

/* Another session of the gate. Its caller holds the lock of its name. */
struct gate_session {
    struct gate_session *next;
    struct session *session;
};

struct gate {
    uv_loop_t loop;
    const struct dialect *dialect;
    const char *agent;
    struct config *config;
    struct manifests *manifests; /* tools that came with one; NULL: there are none */
    struct buf excludes; /* what searches leave out, for all workspaces */
    struct buf tool_env; /* variables of commands that the user's tools need */
    int state_fd;
    struct audit *audit;
    const char **anchor; /* the program that takes heads of the log away; NULL: none */
    char *anchor_path;   /* its PATH and HOME */
    char *anchor_home;
    struct record record;
    struct pipeline pipeline;
    size_t unsent; /* bytes of answers that guests of its sessions have not taken */
    uint32_t last_client;
    struct gate_options options; /* borrows what they point to */
    struct session *session;     /* its own */
    struct gate_session *others; /* that its calls name */
    struct keeper *keeper;
    uv_signal_t child_signal;
    bool loop_open;
};

/* Reads configuration, opens state and log, makes the session. Nothing runs yet. */
int gate_open(struct gate *gate, const struct gate_options *options, struct err *err);
/* Ends cells, closes the log, runs the loop until everything is closed. */
void gate_close(struct gate *gate);

/* A call for this gate's dialect and agent, in one of the gate's sessions. */
struct call *gate_call_new(struct gate *gate, struct session *session);

/* Opens another session beside the gate's own: of this folder, known by this name. Refuses one in which an agent could
 * change what the gate executes or believes. */
struct named;
int gate_add_session(struct gate *gate, const struct named *named, struct session **ret,
                     struct err *err);
/* Ends one of these. None of its calls may be in the pipeline. */
void gate_drop_session(struct gate *gate, struct session *session);

#endif
