/* The part of the shell's language that is understood: simple commands joined by pipes, `&&`, `||`, `;` and newlines, in
 * subshells and in `$( )`. A rule that approves commands looks at nothing else; what lies outside is never guessed at.
 *
 * Understood are words of plain characters, quotes, escapes, `*` and `?`, `~/`, `$NAME` and `$?` in arguments, redirections from
 * files, to /dev/null and between descriptors 1 and 2, comments, and one here-document with a quoted delimiter at the end. Not
 * understood are assignments of other variables than a few harmless ones, reserved words and functions, braces and brackets, arithmetic, `${ }`, backticks, `$'..'`,
 * background jobs and redirections to files.
 *
 * Pure: nothing is expanded, looked up or run. Time and memory are in proportion to the text. */
#ifndef SANDGATE_POLICY_PLAIN_LINE_H
#define SANDGATE_POLICY_PLAIN_LINE_H

#include "base/buf.h"

#define PLAIN_TEXT_MAX (64 << 10)
#define PLAIN_COMMANDS_MAX 64
#define PLAIN_NESTING_MAX 8

enum plain_flag {
    PLAIN_VARIES =
        1, /* the value is known only when it runs; expansions stand in it as they are written */
    PLAIN_ANY = 2,    /* it may become any word, options included, or several */
    PLAIN_QUOTED = 4, /* some of it was quoted or escaped */
    PLAIN_SPLITS = 8, /* it may become several words, or none */
};

struct plain_word {
    struct str text;
    unsigned flags;
    unsigned command; /* which one it belongs to */
};

struct plain_command {
    const struct plain_word *words; /* the program first; its value is known */
    size_t n;
    size_t at;  /* byte of the text */
    bool input; /* its standard input is a pipe, a file or a here-document, or may be */
};

struct plain_line {
    struct plain_command commands[PLAIN_COMMANDS_MAX]; /* in the order in which they begin */
    size_t n;

    /* Behind this: its own. */
    struct plain_word *words_;
    size_t n_words_;
    struct buf text_;
};

/* What is not understood. */
struct plain_fault {
    size_t at;             /* byte of the text */
    const char *construct; /* for people: "a variable is set" */
};

/* -1 when some of it is not understood. */
int plain_read(struct str text, struct plain_line *ret, struct plain_fault *why);
void plain_done(struct plain_line *line);

#define PLAIN_AT_END CLEANUP(plain_done)

#endif
