/* One tool call on its way through the gate. */
#ifndef SANDGATE_CORE_CALL_H
#define SANDGATE_CORE_CALL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "core/command.h"
#include "core/config.h"
#include "core/dialect.h"
#include "core/op.h"
#include "core/path.h"
#include "core/runner.h"
#include "core/tier.h"
#include "core/tool.h"
#include "core/verdict.h"

#define CALL_UID_MAX 40
#define CALL_ARGS_MAX 512 /* largest struct an argument table decodes into */

struct call;
struct pipeline;

/* What a call is done in: the roots it may name and who carries out its operations. */
struct workplace {
    const struct root *roots;
    size_t n_roots;
    const struct config *config;
    struct tier tier;       /* what the sandbox enforces */
    const char *session_id; /* "" for one that has no name */
    bool overlay;           /* changes go to the session's layer */
    struct str excludes; /* text in the form of a .gitignore, for searches that obey such files */
    const char *base;    /* absolute; relative paths begin there; NULL: at the first root */
    const struct root *command_roots; /* the same for commands */
    size_t n_command_roots;
    const char *command_base;
    bool has_gitconfig; /* commands do: see cell/plan.h */
    struct str
        tool_env; /* variables of commands that their tools need: NAME=value, a NUL behind each */
    struct spills *spills; /* where long output of commands is kept; NULL: nowhere */
    bool unsettled;        /* the workspace's own settings are not known yet */
    size_t calls;          /* submitted and not yet answered */
};

enum call_state {
    CALL_NEW,
    CALL_UNSETTLED, /* the settings of its workplace are not known */
    CALL_HELD,      /* someone is being asked */
    CALL_UNPAID,    /* what it costs is to be taken */
    CALL_RECORDED,  /* its intent is in the log's buffer */
    CALL_RUNNING,
    CALL_DONE, /* has its reply or error; the outcome is in the log's buffer */
};

/* The file that a call was approved for. It is kept here because a call may be prepared again. */
struct call_pin {
    bool set;
    bool existed;
    char sha256[HASH_HEX + 1];
    char *real;    /* where its path led: see op_real; NULL: not known */
    char *real_to; /* the same of the second one */
    char *folder;  /* of a command: the absolute path in the cell */
};

/* A terminal of its own for a command, and whoever it is shown by. */
struct call_terminal {
    bool errors;      /* standard error goes there too */
    const char *name; /* of the kind of terminal, for TERM */
    int fd;           /* its other end; -1: not open */
    int socket;       /* to the command's first process, see session/command_terminal.h; -1: none */
    void (*opened)(struct call *call);  /* the program begins once this returns */
    void (*stopped)(struct call *call); /* the program is; it goes on when it is told to */
};

/* What a session has changed, at or in the call's path. */
struct call_look {
    size_t max_bytes;   /* of the patch, which is the call's reply_body */
    struct buf changes; /* op_changed */
    size_t count;       /* of those that are told */
    size_t left_out;    /* of the patch, or not wholly in it */
};

struct call {
    struct call *next; /* in whichever list of the pipeline it is */
    struct call *prev;
    struct pipeline *pipeline;
    enum call_state state;

    /* From the front. */
    char uid[CALL_UID_MAX]; /* ours, unique in the audit log */
    char *id;               /* the caller's, for records; NULL: none */
    char *name;             /* the tool as the caller named it */
    yyjson_doc *doc;        /* owns the arguments */
    yyjson_val *arguments;
    const struct dialect *dialect;
    const char *agent;
    uint32_t
        client; /* whose call it is: those of different ones take turns; 0: there is only one */
    struct workplace *workplace;
    bool direct;                       /* the gate's own, see pipeline_run_direct */
    void (*answer)(struct call *call); /* called once; the front then frees the call */
    /* What a command prints, as it comes; NULL: nobody listens. */
    void (*output)(struct call *call, enum stream stream, struct str bytes);
    void *front;
    void *own;              /* of one that a session makes for itself */
    struct call *compiling; /* what it waits for: its tool's module is compiled; NULL: it is */

    /* Filled in on the way. */
    const struct tool *tool;
    union {
        _Alignas(8) char bytes[CALL_ARGS_MAX];
    } args;
    bool has_path;
    uint64_t edition; /* of the settings that it was last checked with */
    struct verdict verdict;
    bool approved;        /* someone was asked and said yes */
    bool charged;         /* what it costs was taken */
    bool ran;             /* its runner had it; known once it has ended */
    bool cut_off;         /* how far it came is not known */
    struct ask *ask;      /* the policy's, while it is held */
    char approval_id[16]; /* under which someone was asked; "": nobody was */
    char *approved_by;    /* who said yes; NULL: nobody was asked */
    char *note;           /* a hook's, JSON; NULL: none */
    int64_t waited_ms;
    size_t copies;   /* of its content that the answer has; 0: one */
    size_t expected; /* bytes that the answer may have */
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t deadline_ns;
    uint64_t grace_ns; /* how long that is; 0: as usual */
    uint64_t kill_ns;  /* when a cancelled call has had its grace; 0: not cancelled */
    enum err_code cancel_code;
    char cancel_why[240];

    const struct op *op;
    union op_request request;
    struct str request_body;
    int request_fd; /* a file that is the request's body, in place of request_body; -1: none */
    struct call_pin pin;
    bool awaited;           /* one of a session's own that is answered even when its cell dies */
    size_t reply_max;       /* bytes of its reply's body; 0: as configured */
    bool quick;             /* a worker does it with one thread, and nobody cancels it */
    uint32_t sent_from;     /* the processor, for runners */
    int noted_in;           /* which of the sweep's files names this write */
    struct buf decoded;     /* request_body or path when it had to be decoded */
    struct buf sent;        /* request_body of a request for the web that had to be decoded */
    struct buf packed;      /* request_body when it had to be put together */
    uint64_t token;         /* in the runner's hands under this name; 0: not there yet */
    struct call *wait_next; /* in a runner's queue */
    unsigned redirects;     /* of a server that were followed */
    unsigned restarts;      /* cells that died while it was in that queue, or under a sweep */
    yyjson_doc *reply_doc;  /* owns the reply's strings */
    union op_reply reply;
    struct buf reply_body;
    uint32_t shelved;      /* where on the shelf the last part of it ended; 0: none lay there */
    bool reply_lost;       /* the gate had no memory for a part of it */
    bool as_text;          /* the reply's body is wanted as JSON text, made while it comes in */
    struct json_text text; /* where it then goes */
    size_t
        plain_max; /* its answer is text for a model (tool->show) of about so many bytes; 0: it is fields */
    size_t plain_most;   /* the same where its arguments ask for more */
    int64_t plain_lines; /* lines of a file that it may have; 0: as many as there is room for */

    struct call_look *look;  /* of one that looks at its session */
    struct command *command; /* of a tool that runs programs */
    bool pass_on;            /* its output is only handed to `output` */
    bool own_time;           /* a command may take `time_ms`, whatever its arguments say */
    int64_t time_ms;         /* 0: as long as it likes */
    int input_fd;            /* its standard input; borrowed; -1: what `command` says */
    bool typed;              /* that is a terminal: what is typed while it runs is not looked at */
    struct call_terminal *terminal; /* in place of that and of pipes; borrowed; NULL: none */

    bool failed;
    struct err err;

    /* Last, because it is large: of a new call's only the beginning is emptied. */
    struct path path; /* where the dialect's path argument leads, once parsed */
};

void call_pin_done(struct call_pin *pin);

struct call *call_new(void);
/* The call must not be in the pipeline. */
void call_free(struct call *call);

/* The call's, emptied or made. */
struct call_look *call_look(struct call *call);

/* Reads a path by the dialect's grammar. */
int call_parse_path(const struct call *call, struct str text, struct path *ret, struct err *err);
/* The path argument, into call->path. `b64`, when given, is base64 of a
 * path that need not be UTF-8 and takes the place of `text`. */
int call_take_path(struct call *call, struct str text, struct str b64, struct err *err);
/* Base64 of a path, decoded into `out`; `field` is the argument's name. */
int call_decode_path(struct str b64, const char *field, struct buf *out, struct err *err);
/* The path as the dialect writes it in answers: `src/a.c`, `@project/src/a.c`. */
void call_write_path(const struct call *call, struct json_out *j, const char *key);
/* Where a path of the call leads, as a person reads it: `real` as in op_real, the root as in struct path. NULL where it is
 * `named` itself, or not known. To be freed. */
char *call_real_path(const struct call *call, size_t root, struct str named, struct str real);
/* call->path for an operation's request. */
struct str call_path_text(const struct call *call);
/* What the caller gave for this argument (NULL: none); NULL where that is nothing or null. */
yyjson_val *call_given(const struct call *call, const struct arg *arg);

/* About how large the answer can get, known once the call is prepared. */
size_t call_expected_bytes(const struct call *call);
/* How much content a plain answer may have: what the argument asks for, as far as it may, or what is usual. */
size_t call_plain_room(const struct call *call, const char *argument, int64_t asked);
/* Takes other arguments in the place of those that it has. */
void call_use_arguments(struct call *call, yyjson_doc *doc);
/* Brings its arguments into the form of its tool's table, where its dialect wants that. */
int call_adapt_arguments(struct call *call, struct err *err);
/* Whether its command may write to git directories: by a rule, or because someone was asked about just that. */
bool call_may_write_git(const struct call *call);
/* What the sandbox enforced: "none" where there was none and so nothing ran. */
const char *call_tier(const struct call *call);
int64_t call_duration_ms(const struct call *call);

/* How much of the reply's body has come. */
size_t call_body_bytes(const struct call *call);

/* It was done, and its answer cannot be written: for want of memory, or because it would be over `max` bytes. */
void call_fail_answer(struct call *call, bool no_memory, size_t max);
/* Gives back what came for an answer that is not written; of what a command printed its length stays known. */
void call_forget_body(struct call *call);
/* The whole answer in the dialect's shape. */
void call_write_answer(struct call *call, struct json_out *j);
/* Of a call that succeeded only the result, as the dialect writes it alone. -1: nothing was written, the
 * call has failed (now, where its result does not fit). */
int call_write_result(struct call *call, struct json_out *j);

#endif
