/* Every program that a command line starts, found through those that start others: `env`, `xargs`, `find -exec`,
 * `sh -c`, `eval`. */
#ifndef SANDGATE_POLICY_COMMAND_WALK_H
#define SANDGATE_POLICY_COMMAND_WALK_H

#include "policy/command_rules.h"
#include "policy/shell_words.h"

struct command_view {
    const struct shell_word *words; /* the program first */
    size_t n;                       /* at least 1 */
    bool wraps;                     /* it starts what is visited next */
    bool unsure;      /* variables are set for it, or its text is known only when it runs */
    bool more_words;  /* xargs adds some */
    bool input;       /* its standard input may hold something */
    const char *root; /* command_around.root */
    const struct shell_word *assigned; /* words that set variables for it */
    size_t n_assigned;
    const struct shell_word *found; /* where find starts, for what stands as `{}` */
    size_t n_found;                 /* at least 1 if it is find that runs this */
    struct str replaced; /* text that xargs puts its words in place of; n is 0 for none */
    struct str text;     /* the shell's text that it stands in; n is 0 where that is not known */
    unsigned *looks;     /* that are left into programs which it runs (program_starts.h); NULL: none was taken */
};

/* Either returns -1, with err set, to end the walk. */
struct command_visitor {
    int (*script)(void *self, const struct shell_script *script, struct err *err); /* may be NULL */
    int (*command)(void *self, const struct command_view *view, struct err *err);
};

int command_walk(struct str text, const struct command_visitor *visitor, void *self,
                 struct err *err);

/* The name without folder that a program goes by, expansions left out as if they were empty. Points into the
 * word or into `room`. */
#define COMMAND_NAME_MAX 128
struct str command_name(const struct shell_word *word, char room[COMMAND_NAME_MAX]);

/* Whether no letter of it is known. */
bool command_word_is_open(const struct shell_word *word);

bool command_form_holds(enum command_form form, const struct command_view *view);

/* What a program is that starts another. */
enum command_wrap_kind {
    WRAP_PREFIX, /* its command follows its options and operands */
    WRAP_TEXT,   /* the words that follow are read by a shell */
    WRAP_FIRST,  /* the first of them is */
    WRAP_SHELL,  /* the one behind -c is */
    WRAP_FIND,   /* -exec and the like */
};

struct command_wrap {
    const char *name;
    enum command_wrap_kind kind;
    const char *short_values; /* letters of options that take a value */
    const char *long_values;  /* their long names, a blank before and behind each */
    const char *long_flags;   /* long names of others that say nothing about what is started */
    const char *replaces;     /* letters of options that put something else into its command */
    unsigned operands;        /* before its command */
    const char *lookup;       /* letters that make it only look something up */
    bool assigns;             /* NAME=value may come before its command */
    bool more_words;
    char text; /* the letter of an option whose value is split into words, and its long name */
    const char *text_name;
};

/* Whether `{} +` ends the command behind this word of find; for -ok and -okdir only `;` does. */
bool command_find_takes_plus(struct str word);

const struct command_wrap *command_wrap_find(struct str name);

/* Where its command or text begins. */
struct command_inner {
    size_t at;       /* a word; the view's n when there is none */
    struct str text; /* when p is not NULL: the value to be split, before the words at `at` */
    bool unsure;     /* what begins there may be something else than it looks like */
    bool foreign;    /* its text is for a shell that may read it in another way */
};

struct command_inner command_wrap_inner(const struct command_wrap *wrap,
                                        const struct command_view *view);

bool command_is(struct str text, const char *literal);
bool command_in_list(const char *list,
                     struct str word); /* of words with a blank before and behind each */

#endif
