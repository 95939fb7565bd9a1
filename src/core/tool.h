/* A tool is one row. Its argument table gives the schema, validation, typed decoding, help and log
 * form; its handler turns typed arguments into a core operation and the operation's reply into the
 * fields of its dialect. */
#ifndef SANDGATE_CORE_TOOL_H
#define SANDGATE_CORE_TOOL_H

#include "core/arg.h"

struct call;

enum dialect_id {
    DIALECT_NATIVE,
    DIALECT_SIDECAR,
    DIALECT_SYSTEM,
    DIALECT_TOOLHOST,
    DIALECT_RUNNER,
    DIALECT_COUNT
};

enum runner_id {
    RUN_BUILTIN, /* in the gate itself: touches no file, no network */
    RUN_WORKER,  /* an operation in the session's cell */
    RUN_COMMAND, /* a program in the session's cell */
    RUN_SESSION, /* the session itself: what it has changed */
    RUN_ROLE,    /* an operation of a role that is a program of its own */
    RUN_COUNT
};

/* What a tool needs; the policy grants it or not. */
enum capability {
    CAP_FS_READ = 1,
    CAP_FS_WRITE = 2,
    CAP_COMMAND = 4,
    CAP_NETWORK = 8,
    CAP_MODEL = 16,
};

enum tool_flag {
    TOOL_IDEMPOTENT = 1, /* changes something, but the same call again changes nothing more */
    TOOL_ADDS_ONLY = 2,  /* never changes or removes what is there */
    /* Works on all that lies beneath its paths; where it takes an ARG_DEEP, only if that is true. */
    TOOL_TREE = 4,
    TOOL_LISTS = 8,  /* tells what lies directly in the folder that it is given */
    TOOL_LONG = 16,  /* an argument says how much of a long result is wanted */
    TOOL_LAYER = 64, /* about the layer of an overlay session: of no use in others */
    TOOL_ASKS = 32,  /* a person is asked, unless a rule approves it */
};

struct tool {
    enum dialect_id dialect;
    const char *name;
    const char *alias; /* the name where dots are forbidden; NULL: the name has none */
    const char *title;
    const char *description; /* what the model reads */
    struct arg_table args;
    struct arg_table result;
    /* The JSON Schema of the arguments of a tool that comes with a manifest, which counts then; `args` has a row for each of
     * its properties, for all that knows arguments by rows. NULL: `args` is all there is. */
    yyjson_val *input;
    unsigned capabilities;
    unsigned flags;
    /* What one call needs, where that depends on its arguments: adds to *flags what holds for it. NULL: all of
     * `capabilities`. */
    unsigned (*needs)(yyjson_val *arguments, unsigned *flags);
    enum runner_id runner;
    /* RUN_BUILTIN: does the work. RUN_WORKER, RUN_ROLE: fills call->op and call->request from call->args.
     * RUN_COMMAND: makes call->command. RUN_SESSION: fills call->look. */
    int (*prepare)(struct call *call, struct err *err);
    /* RUN_ROLE: after a reply. 1: another operation is to follow, which is in call->op and call->request; 0: it is done. NULL:
     * it is. */
    int (*next)(struct call *call, struct err *err);
    /* Whether what came back counts as done, before it is recorded; NULL: it does. */
    int (*judge)(const struct call *call, struct err *err);
    /* Writes the fields of the dialect's answer. May still fail. */
    int (*shape)(const struct call *call, struct json_out *j, struct err *err);
    /* The same as text for a model, where call->plain_max asks for that. NULL: there is none. */
    int (*show)(const struct call *call, struct buf *out, struct err *err);
    /* The media type of an image that the reply's body is, to be shown as one; NULL: it is none. */
    const char *(*image)(const struct call *call);
};

/* Checks arguments, and fills `out` where the tool has a struct for them: see arg_decode. */
int tool_decode(const struct tool *tool, bool strict, yyjson_val *object, void *out,
                struct err *err);
/* The JSON Schema of its arguments; `brief`: for a model that reads it with each turn. */
void tool_write_input(const struct tool *tool, bool brief, struct json_out *j);

#endif
