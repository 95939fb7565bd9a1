/* A command: what a tool asks for, and what became of it. */
#ifndef SANDGATE_CORE_COMMAND_H
#define SANDGATE_CORE_COMMAND_H

#include "core/op.h"
#include "core/output.h"
#include "core/path.h"
#include "core/tool.h"

/* The longest time limit that a call may give a command, unless the operator allows another: what
 * commands.maxTimeoutMs is by default, and what the schemas of dialects without longer ones say. */
#define COMMAND_MAX_MS 600000

enum command_end {
    COMMAND_EXIT,
    COMMAND_SIGNAL,
    COMMAND_TIMEOUT,
    COMMAND_MEMORY_LIMIT,
    COMMAND_PROCESS_LIMIT,
    COMMAND_DISK_LIMIT,
    COMMAND_FILE_SIZE_LIMIT,
    COMMAND_CPU_LIMIT,
};
extern const char *const command_end_names[];

/* Something the sandbox refused, or found and acted on, and how often. */
struct command_violation {
    char what[256];
    uint8_t rank; /* the gravest have 0 */
    int64_t count;
};

/* An answer names the first COMMAND_VIOLATIONS_SHOWN, a record all that are kept. Of what is beyond
 * COMMAND_VIOLATIONS_MAX the gravest are kept, and the others are counted by their kind. */
#define COMMAND_VIOLATIONS_SHOWN 64
#define COMMAND_VIOLATIONS_MAX 1000
#define COMMAND_VIOLATION_KINDS 18
struct command_violations {
    struct command_violation *list; /* the gravest first, else in the order they came */
    size_t count;
    int64_t more[COMMAND_VIOLATION_KINDS]; /* see command_violation_kinds */
};
/* What the names of a kind begin with; the last, "", is that of system calls. NULL behind it. */
extern const char *const command_violation_kinds[];

struct quarantine_move;

/* Where a command is between the end of its last process and its answer (session/command_after.h). */
struct command_after {
    bool begun;
    size_t step;
    struct buf fresh;     /* what it made that is protected, see session/quarantine.h */
    struct buf fresh_git; /* the same: git directories */
    struct buf closed;    /* the same: folders that cannot be looked into */
    struct buf suspects;  /* git directories that were judged before, see session/suspects.h */
    int64_t suspects_ns;  /* since when these were made */
    bool suspect;         /* the worker is asked about one of them */
    size_t seen_to[4];    /* of each, by the step that takes them out of the project */
    size_t inside;        /* found in folders that scans do not look into */
    char id[16];          /* of the one that the worker is asked about, in quarantine */
    struct quarantine_move *move; /* its note; NULL: there is none */
    char last_move[16];           /* of those that were cut off; so are the next two */
    bool moves_seen;              /* all of them */
    bool moves_kept;              /* one of them could not be ended, or not be looked at */
    bool asking;                  /* the worker is being asked about one */
    bool answered;                /* at once */
    struct buf others; /* the same: what was looked for where something else was by then */
    struct buf stays; /* hashes of those that stay where they are: they are not asked about again */
    size_t stays_sorted; /* bytes of them: those of the rounds before this one */
    size_t first_look;   /* the step that looks for them */
    unsigned rounds;     /* times that it was taken again */
    bool again;          /* it is to be */
    bool full;           /* the quarantine is */
    bool scan_failed;    /* of one root at least */
    bool scan_unsure;    /* the same: what was made may not have been found */
    bool left;           /* to the next command: what it made could not be found out or told */
    unsigned scans;      /* on their way */
    uint64_t scan_began_ns;
    bool not_taken; /* it ran to its end, and what it wrote to git directories was not taken over */
    bool failed;    /* with `err` */
    struct err err;
};

/* Limits that are weaker without control groups, and how: memory and processes are looked at every 100 ms, so that more can
 * be used in between; the processors are not limited at all. */
enum command_weak {
    COMMAND_WEAK_MEMORY = 1 << 0,
    COMMAND_WEAK_PROCESSES = 1 << 1,
    COMMAND_WEAK_CPUS = 1 << 2,
};

struct command {
    /* Asked for. */
    struct buf args; /* a NUL behind each */
    int64_t n_args;
    struct buf env; /* NAME=value, a NUL behind each: besides what every command has */
    int64_t n_env;
    bool shell;          /* the arguments are a shell's */
    bool listed;         /* the program has to pass tools.bash's lists */
    struct str input;    /* for its standard input; NULL: at its end from the start */
    struct str cwd;      /* absolute, in the cell */
    const char *beneath; /* it has to lie in this folder */
    size_t max_output;   /* kept of each stream */
    size_t max_both;     /* kept of both together; 0: as much as of each */
    bool less_time;      /* than it asked for, by a rule */
    const char *budget;  /* the verdict's rule that leaves it still less; NULL: none */
    struct buf
        layers; /* git directories that it writes to in layers, see op_layer_next; empty: none */
    char layer_tag[OP_LAYER_TAG_MAX + 1];
    bool passed_on; /* nothing is kept: whoever asked takes the output as it comes */

    /* What became of it. */
    bool begun;   /* its program was started */
    char *folder; /* absolute, in the cell: where it ran; NULL: in `cwd`, or not known */
    bool ended;   /* how is known: the fields below */
    struct output streams[STREAMS];
    enum command_end ended_by;
    int64_t exit_code; /* ARG_ABSENT: a signal ended it */
    int64_t signal;
    bool measured;       /* what follows is known, also of one whose end is an error */
    int64_t peak_memory; /* bytes; ARG_ABSENT: not known */
    int64_t cpu_ms;      /* the same */
    unsigned weaker;     /* limits that no control group held: bits of enum command_weak */
    struct command_violations violations;
    uint64_t delayed_ns;  /* when it first could not begin; 0: it never was delayed */
    unsigned guard_tries; /* times that what is guarded was moved while it was prepared */
    unsigned git_tries;   /* times that its layers could not be made */
    int64_t git_refused;  /* git directories of which nothing was taken over */
    bool for_others;      /* the next two are those of one before it, too */
    int64_t began_ns;     /* clock_file_ns */
    int64_t guards_since[ROOTS_MAX]; /* of each root: the list of guarded files it started with */
    char output_id[SPILL_ID_MAX];    /* "": all of the output is in the streams */
    struct command_after after;
};

struct command *command_new(size_t max_output);
void command_free(struct command *command);
/* Makes one that is prepared again from the start. How far it had come stays: its layers, and what it has tried. */
void command_renew(struct command **command, size_t max_output);
/* It prints nothing more: keeps of both streams together what max_both says, the shorter one whole where it is short. */
void command_fit_output(struct command *command);
/* -1: there are too many bytes of them for one call, or a NUL in one. */
int command_add_arg(struct command *command, struct str arg);
/* `kind` and `path` together name it; what is too long is cut, with a mark. One that is there already is not added
 * again. */
bool command_violations_have(const struct command_violations *all, const char *what);
void command_add_violation(struct command *command, const char *kind, struct str path,
                           int64_t count);
/* Removes those of a kind: they will be found again if they still hold. */
void command_forget_violations(struct command *command, const char *kind);
/* Those that an answer does not name. */
int64_t command_violations_unshown(const struct command *command);
/* Names them at the end of the message of a call that failed, as many as there is room for. */
void command_tell_violations(const struct command *command, char *message, size_t size);
int command_add_env(struct command *command, struct str name, struct str value);
/* The command line of a shell. */
int command_use_shell(struct command *command, struct str line);

#endif
