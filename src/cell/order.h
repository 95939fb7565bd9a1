/* What a command is to be (gate to the command's first process) and what became of it (back again), as
 * frames. */
#ifndef SANDGATE_CELL_ORDER_H
#define SANDGATE_CELL_ORDER_H

#include "cell/frame.h"
#include "cell/violations.h"
#include "cell/watch.h"
#include "core/arg.h"
#include "core/path.h"

/* Where the descriptors of a FRAME_RUN stand. */
enum order_fd {
    ORDER_STDOUT,
    ORDER_STDERR,
    ORDER_STATUS, /* takes the FRAME_RAN */
    ORDER_REST,   /* standard input, if any; or the socket of its terminal, see cell/tty.h */
};

/* 0 of a limit: there is none. */
struct order {
    struct str cwd;     /* absolute, in the cell */
    struct str beneath; /* it has to lie in this folder once links are followed */
    bool as_named;      /* and there must be no links on the way to it */
    struct str pinned;  /* absolute: where it has to be then; p is NULL: anywhere beneath */
    bool has_stdin;
    bool terminal;        /* its standard input and output are a terminal of its own */
    bool terminal_errors; /* its standard error too */
    int64_t n_args;
    int64_t n_env;
    bool listed; /* the program has to pass the two lists */
    bool allow_all;
    int64_t n_allowed;
    int64_t n_denied;
    bool only_leaves; /* nothing but these programs may be started */
    int64_t n_leaves;
    int64_t data; /* bytes of private memory of each process */
    int64_t processes;
    int64_t files;
    int64_t file_size;
    int64_t cpu_seconds; /* of each process */
    /* Looked at every now and then, over all processes together. */
    int64_t watch_memory; /* where no cgroup limits it */
    int64_t watch_buffers;
    int64_t watch_processes;
    int64_t watch_written;
    /* Arguments, environment, allowed and denied programs, leaves, in this order, a NUL behind each. */
    struct str strings;
};
/* What its first process is to watch. */
struct watch_limits order_watch_limits(const struct order *order);
bool order_is_watched(const struct order *order);

/* The order's frame; its head goes into `head`. -1 when it does not fit. */
int order_frame(const struct order *order, struct buf *head, struct frame *ret);
/* Strings are borrowed from the frame and from *ret_doc. */
int order_read(const struct frame *frame, struct order *ret, yyjson_doc **ret_doc, struct err *err);
/* The strings as vectors with a NULL behind each of the first two. */
struct order_vectors {
    char **args;
    char **env;
    struct str *allowed;
    struct str *denied;
    struct str *leaves;
};
/* Takes from `order`, which must outlive it. -1 when there are not as many as announced. */
int order_vectors(const struct order *order, struct order_vectors *ret);

enum ran_kind {
    RAN_ENDED,      /* `status` is the program's */
    RAN_REFUSED,    /* by a rule about programs */
    RAN_NOT_FOUND,  /* there is no such program */
    RAN_NO_FOLDER,  /* its working directory cannot be used */
    RAN_NO_PROGRAM, /* the file is there, but cannot be run */
    RAN_FAILED,     /* it could not be started, or the sandbox could not be made */
    RAN_BUSY,       /* the same, for lack of descriptors, memory or processes: later it may be */
    RAN_MEMORY,     /* ended, because a limit was passed */
    RAN_PROCESSES,
    RAN_WRITTEN,
    RAN_KIND_END
};

/* The `rule` of a RAN_BUSY: of all that could be missing, it is the command's own limit of processes. */
#define RAN_PROCESS_LIMIT "process_limit"
/* The same: something guarded was moved or replaced between the scan that found it and the mounts that cover it. The
 * launcher's FRAME_ENDED has it as its message. */
#define RAN_GUARDS_MOVED "guards_moved"

struct ran {
    int64_t kind;
    int64_t status; /* as from wait(2) */
    int64_t error;  /* RAN_NO_FOLDER, RAN_NO_PROGRAM: the errno */
    struct str message;
    struct str rule;
    struct str folder; /* absolute, in the cell: where it ran; p is NULL: in the one it was given */
    int64_t user_ms;
    int64_t system_ms;
    int64_t peak_memory; /* bytes, of the largest process or of all together, where that is known */
    int64_t written;
    yyjson_val *violations; /* [{"call","count"}] */
};

/* An account has at most this many bytes: each text has its own ceiling, and a character of it takes at most six where
 * it is escaped. What is left is for the names of the fields and their numbers. */
#define RAN_TEXT_MAX                                                                               \
    (sizeof((struct err *)0)->message + sizeof((struct err *)0)->reason + PATH_TEXT_MAX)
#define RAN_VIOLATION_BYTES (6 * VIOLATION_NAME_MAX + 64)
#define RAN_BYTES_MAX (1024 + 6 * RAN_TEXT_MAX + ((size_t)VIOLATIONS_MAX + 1) * RAN_VIOLATION_BYTES)

/* `violations` is JSON text. */
void ran_write(const struct ran *ran, struct str violations, struct json_out *j);
int ran_read(const struct frame *frame, struct ran *ret, yyjson_doc **ret_doc, struct err *err);

#endif
