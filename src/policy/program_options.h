/* What is known about the options of programs. An approval of a program is meant for what that program does by itself:
 * not for other programs that an option makes it run, files it writes besides, another configuration or another machine. */
#ifndef SANDGATE_POLICY_PROGRAM_OPTIONS_H
#define SANDGATE_POLICY_PROGRAM_OPTIONS_H

#include "policy/command_walk.h"

struct program_use {
    const struct command_view *view;
    struct str subcommand; /* "" where the program has none */
    size_t at;             /* of its first word; the view's n where there is none */
    bool sure;             /* no option before it leaves a doubt which word it is */
    size_t last;           /* of its last word; the same as `at` where it has one */
};

/* NULL, or what is against this use of a program, for people: "`-o` of `sort` writes a file". The text is in `room`. */
#define PROGRAM_FAULT_MAX 120
const char *program_fault(const struct program_use *use, char room[PROGRAM_FAULT_MAX]);

/* Programs that run the program which a word names: `uv run pytest`, `npx tsc`. An approval of the first alone does not hold
 * then; one that names the word does, unless there is something against that use of it. */
enum program_runs {
    RUNS_NONE,
    RUNS_NAMED, /* the last word of the subcommand */
    RUNS_OTHER, /* it is not known, or there is something against it */
};

enum program_runs program_runs(const struct program_use *use, char room[PROGRAM_FAULT_MAX]);

/* NULL when every option of this use is known to be harmless, else the first that is not: "`--x` of `ls` is not known as
 * harmless". For a use that program_fault has nothing against. */
const char *program_unknown(const struct program_use *use, char room[PROGRAM_FAULT_MAX]);

/* Whether the subcommand may be an alias, or a program of its own (`git-WORD`). */
bool program_may_be_alias(struct str name, struct str subcommand);
/* Whether it is none of the program's own, where these are known: an alias, a plugin, or a slip. */
bool program_lacks(struct str name, struct str subcommand);

/* Whether anything is known about the program, by its name without folder. */
bool program_is_listed(struct str name);

/* Whether the `--` at words[i] ends the options. Behind an option it may be that option's value. */
bool program_ends_options(const struct command_view *view, size_t i);

/* The name without folder, in the view's words or in `other`. */
struct str program_name(const struct program_use *use, char other[COMMAND_NAME_MAX]);

#endif
