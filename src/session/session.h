/* A session: the folders a caller works in, their cell, and the calls that are in its hands. */
#ifndef SANDGATE_SESSION_SESSION_H
#define SANDGATE_SESSION_SESSION_H

#include <uv.h>

#include "cell/cell.h"
#include "session/role_cells.h"
#include "core/pipeline.h"

struct session;

struct session_options {
    const struct config *config; /* the operator's; borrowed */
    int state_fd;
    const char *state; /* its path; NULL: the workspace needs no store */
    const char
        *settings_folder; /* of the operator's: commands do not see it; NULL: there is none */
    const char *id;       /* "" for one without a name */
    struct root roots[ROOTS_MAX];
    size_t n_roots;
    const char *base; /* absolute; relative paths begin there; NULL: at the first root */
    const char
        *settings;       /* folder of the workspace's own settings, in the first root; NULL: none */
    const char *protect; /* in the last root: a folder that stays read-only in the cell, or NULL */
    bool show_system;
    bool commands;                        /* some call may run one */
    bool once;                            /* there is one call */
    struct root command_roots[ROOTS_MAX]; /* the folders they have */
    size_t n_command_roots;
    const char *gitconfig;    /* of the user's, for commands; NULL: none */
    struct str tool_env;      /* variables of commands: NAME=value, a NUL behind each */
    const char *command_base; /* absolute; relative ones begin there; NULL: at the first root */
    bool commits;             /* what lies in a layer is taken over, see session/review.h */
    const char *layer;        /* of the session: changes of the first root go there; NULL: none */
    bool overlay;             /* it has one, be it not `layer` where nothing is to be run */
    role_program_fn role_program;   /* finds programs of roles; NULL: no call needs one */
    const struct workplace *hidden; /* whose writable folders commands do not see; NULL: nobody */
};

int session_new(struct session **ret_session, uv_loop_t *loop,
                const struct session_options *options, struct err *err);
/* Ends its cell. No call may be in its hands. Accepts NULL. */
void session_free(struct session *session);

/* Starts the cell before the first call asks for it. */
void session_warm_up(struct session *session);

/* Its cell starts, or the workspace's settings are being read. */
bool session_is_opening(const struct session *session);

struct workplace *session_workplace(struct session *session);

/* Whose workplace the call's is. */
struct session *session_of_call(const struct call *call);

/* Refuses limits of a command's call that cannot be held here. */
int session_check_limits(const struct call *call, struct err *err);

/* The pipeline's runners for calls whose workplace is a session's, one for each kind. */
extern const struct runner session_runners[RUN_COUNT];

#endif
