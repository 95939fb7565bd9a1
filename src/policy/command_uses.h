/* Every program that an understood command line runs, found through those that only start others: `timeout 5 ls`,
 * `xargs grep x`, `find -exec cat {} +`, `sh -c 'ls'`. What starts programs in a way that is not read here makes the
 * whole line one that is not understood. */
#ifndef SANDGATE_POLICY_COMMAND_USES_H
#define SANDGATE_POLICY_COMMAND_USES_H

#include "policy/command_rules.h"
#include "policy/plain_line.h"

#define COMMAND_USES_MAX 64
#define COMMAND_LINES_MAX 8 /* the line itself and the texts of shells in it */

struct command_use {
    const struct plain_word *words; /* the program first */
    size_t n;
    struct str replaced; /* stands for something that is known only when it runs; n is 0 for none */
    bool path;           /* and that begins like a path */
    bool many;           /* and that may be several words */
    bool more_words;     /* xargs adds some */
    bool starts;         /* it only starts the one that follows */
    bool input;          /* its standard input may hold something */
    struct str moved;    /* a word that may have put it into another folder; n is 0 for none */
};

struct command_uses {
    struct command_use all[COMMAND_USES_MAX]; /* in the order in which they begin */
    size_t n;

    /* Behind this: its own. */
    struct plain_line *lines_[COMMAND_LINES_MAX];
    size_t n_lines_;
};

/* -1 when some of it is not understood. `why->at` is meant for the line itself. */
int command_uses_read(struct str text, const struct command_around *around,
                      struct command_uses *ret, struct plain_fault *why);
void command_uses_done(struct command_uses *uses);

/* A program that starts others, or reads commands, in a way that is not read. By its name without folder. */
bool command_is_unread(struct str name);

/* Whether a folder, as it is written, is that in which a command begins at the workspace. */
bool command_is_here(struct str folder, const char *root);

/* The flags of a word, what is put into it counted. */
unsigned command_use_flags(const struct command_use *use, size_t word);

#define COMMAND_USES_AT_END CLEANUP(command_uses_done)

#endif
