/* The gate: everything that decides, put together on one event loop. */
#ifndef SANDGATE_GATE_GATE_H
#define SANDGATE_GATE_GATE_H

#include <uv.h>

#include "core/pipeline.h"
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
    const char *session; /* NULL: one without a name */
    bool commands;       /* some call may run one */
    bool once;           /* there is one call */
    bool own_hand;       /* a person typed it */
    bool mcp;            /* calls come over MCP */
    bool show_system;    /* tests: the machine's programs and settings are visible in the cell */
};

struct gate {
    uv_loop_t loop;
    const struct dialect *dialect;
    const char *agent;
    struct config *config;
    struct buf excludes; /* what searches leave out, for all workspaces */
    int state_fd;
    struct audit *audit;
    const char **anchor; /* the program that takes heads of the log away; NULL: none */
    char *anchor_path;   /* its PATH and HOME */
    char *anchor_home;
    struct record record;
    struct pipeline pipeline;
    size_t unsent; /* bytes of answers that guests of the session have not taken */
    struct session *session;
    struct keeper *keeper;
    uv_signal_t child_signal;
    bool loop_open;
};

/* Reads configuration, opens state and log, makes the session. Nothing runs yet. */
int gate_open(struct gate *gate, const struct gate_options *options, struct err *err);
/* Ends cells, closes the log, runs the loop until everything is closed. */
void gate_close(struct gate *gate);

/* A call for this gate's dialect, agent and session. */
struct call *gate_call_new(struct gate *gate);

#endif
