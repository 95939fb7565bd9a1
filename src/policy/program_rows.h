/* The tables of options, one file for each family of programs. Private to program_*.c. */
#ifndef SANDGATE_POLICY_PROGRAM_ROWS_H
#define SANDGATE_POLICY_PROGRAM_ROWS_H

#include <string.h>

#include "policy/program_options.h"

enum row_flag {
    ROW_ONE_DASH =
        1,         /* names have one dash or two and are not cut; there are no bundles of letters */
    ROW_WHOLE = 2, /* names are not cut */
    ROW_ASSIGNS = 4,    /* a word NAME=value that is no option counts */
    ROW_ALWAYS = 8,     /* every use counts */
    ROW_BEFORE = 16,    /* only what stands before the subcommand counts */
    ROW_EXCEPT = 32,    /* for all subcommands but these */
    ROW_RESPONSE = 64,  /* a word `@FILE` counts: it stands for the words in the file */
    ROW_HOSTS = 128,    /* a word or value `HOST:FILE` counts */
    ROW_FOLDER = 256,   /* counts unless the value is a folder of the workspace */
    ROW_PLUS = 512,     /* a word that begins with `+` counts */
    ROW_OLD = 1024,     /* the first word is a bundle of letters, even without a dash */
    ROW_BARE = 2048,    /* names without a dash: words that are no options */
    ROW_HOLDS = 4096,   /* names are texts, in lower case, that count anywhere in a word */
    ROW_AFTER = 8192,   /* words behind `--` count too */
    ROW_VARIES = 16384, /* so does every word that is known only when it runs */
    ROW_LOOSE = 32768, /* names are not cut; dashes in them and the case of letters do not matter */
    ROW_ALIAS = 65536, /* the subcommand may be a name that the user has given to another */
    ROW_HERE = 131072, /* counts unless the value is the workspace itself */
    ROW_INPUT = 262144,    /* every use with something on its standard input counts */
    ROW_ANY_DASH = 524288, /* names have any number of dashes; after one, two letters or more */
    ROW_REST = 1048576,    /* every word behind `--` counts, but for the exceptions */
    ROW_TOKENS = 2097152,  /* ROW_HOLDS: not inside a longer name */
    ROW_OUTSIDE = 4194304, /* a word that is no option counts if it is a path that leads out */
};

/* What a kind of use does besides. Lists have a blank before and behind each name. A name that ends in `*` stands for all
 * that begin with it; any other may be cut when it is given, and then each that it may stand for counts. */
struct program_row {
    const char *programs;
    const char *subcommands; /* first words; NULL: all */
    const char *letters;     /* ROW_ONE_DASH: options of one letter whose value may be attached */
    const char *names;
    unsigned flags;
    const char *does;
    unsigned operands; /* from this one on, words that are no options count; 0: none does */
    const char *but;   /* names that do not count, though `names` has them */
};

/* command_in_list for short lists, of which many are looked at for one use. */
static inline bool program_in(const char *list, struct str name)
{
    for (const char *at = list; *at == ' ' && at[1];) {
        at++;
        if (*at == name.p[0] && strncmp(at, name.p, name.n) == 0 && at[name.n] == ' ')
            return true;
        while (*at != ' ')
            at++;
    }
    return false;
}

struct program_rows {
    const struct program_row *all;
    size_t n;
};

extern const struct program_rows program_rows_files;
extern const struct program_rows program_rows_git;
extern const struct program_rows program_rows_build;
extern const struct program_rows program_rows_script;
extern const struct program_rows program_rows_system;

/* Whether there is a list of its harmless options. */
bool program_has_known(struct str name);

/* sed and awk: what a script may do is in its text. NULL: it only edits text and prints it. */
bool program_is_script(struct str name);
const char *program_script_fault(const struct command_view *view, struct str name);
/* Whether the script may start any program: it is known only when it runs, or what it starts is not written in it. */
bool program_script_open(const struct command_view *view, struct str name);

/* Whether a word that names the program which another one runs is known only when it runs. */
bool program_runs_open(const struct program_use *use);

#endif
