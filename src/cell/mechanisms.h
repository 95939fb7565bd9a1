/* What the kernel has to give for the sandbox, as one table. cell/probe.h tries each of them; `sandgate doctor`, the error
 * of a cell that cannot start and docs/THREATS.md tell of them. */
#ifndef SANDGATE_CELL_MECHANISMS_H
#define SANDGATE_CELL_MECHANISMS_H

#include "base/json.h"
#include "core/tier.h"

/* In the order in which they are told; a cause stands before what follows from it. */
enum mechanism {
    MECHANISM_USER_NAMESPACES,
    MECHANISM_NAMESPACES,
    MECHANISM_MOUNTS,
    MECHANISM_ROOT_MOUNTS,
    MECHANISM_PROC,
    MECHANISM_LANDLOCK,
    MECHANISM_SECCOMP,
    MECHANISM_OPENAT2,
    MECHANISM_SECCOMP_NOTIFY,
    MECHANISM_PIDFD,
    MECHANISM_OVERLAY,
    MECHANISM_IDMAP,
    MECHANISM_CGROUP_MEMORY,
    MECHANISM_CGROUP_PROCESSES,
    MECHANISM_CGROUP_CPU,
    MECHANISM_COUNT,
};

enum need {
    NEED_CELL,     /* without it no cell starts */
    NEED_FULL,     /* without it a cell has a weaker tier */
    NEED_COMMANDS, /* without it no command starts */
    NEED_SOME,     /* without it some calls fail */
    NEED_LIMITS,   /* without it a limit is held in a weaker way */
};

struct mechanism_row {
    const char *name;
    const char *title;
    const char *since; /* Linux; "" for what is older than all that are supported */
    enum need need;
    const char *use;
    const char *without;
};

extern const struct mechanism_row mechanism_rows[MECHANISM_COUNT];

enum finding_state {
    FINDING_NO,
    FINDING_YES,
    FINDING_UNNEEDED, /* this process has no use for it */
};

/* What became of trying one. */
struct finding {
    enum finding_state state;
    int error;   /* errno; 0: none */
    int version; /* of an interface that has some; 0: not known */
    enum means means;
    char cause[240]; /* why not, a clause; "" where it is there */
    char
        fix[240]; /* the command that mends it; "": there is none, or several must be chosen from */
};

struct findings {
    struct finding of[MECHANISM_COUNT];
};

/* The best that all of these together allow. */
struct tier findings_tier(const struct findings *f);
/* The first that is missing and needed for that; MECHANISM_COUNT: none is. */
enum mechanism findings_missing(const struct findings *f, enum need need);
/* Whether one is missing because others have used it up, rather than for good. */
bool finding_may_pass(const struct finding *f);
/* "CAUSE; run: FIX" of one that is missing. */
void finding_write_cause(const struct finding *f, struct buf *out);

/* An array. False where it was not written so. */
void findings_write(const struct findings *f, struct json_out *j);
bool findings_read(yyjson_val *from, struct findings *ret);

/* What a version of Landlock does not know yet. */
struct landlock_step {
    int abi; /* the first that knows it */
    const char *since;
    const char *what;
};
/* Ends with a row of zeros. */
extern const struct landlock_step landlock_steps[];

/* The table for docs/THREATS.md. */
void mechanisms_write_markdown(struct buf *out);

#endif
