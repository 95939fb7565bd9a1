/* A command line, read as bash reads it, far enough to know where each command begins and which words it
 * has. Pure: nothing is expanded, looked up or run.
 *
 * The commands come as one flat list in the order in which they begin, those inside `$( )`, backticks,
 * `<( )`, subshells, groups, loops, functions and here-documents included. Redirections, reserved words, the
 * words of `for x in ...` and the patterns of `case` are no commands and are left out; what is inside them
 * and runs is not. `[[ ... ]]` is one command, `(( ... ))` one whose only word is `((`.
 *
 * A word has the value that the shell would see when that is fixed: quotes and escapes are gone, `$'\x41'`
 * is decoded. What is only known when it runs is written short and flagged: `$x` and `${x}` (whatever
 * stands behind the name), `$()` for each substitution, `$(())` for arithmetic, `<()`.
 *
 * More is accepted than bash accepts: a missing `fi` is no error. Two things it takes are refused, `${ cmd; }`
 * and what exceeds the limits. Time and memory are in proportion to the text, for each level of nesting. */
#ifndef SANDGATE_POLICY_SHELL_WORDS_H
#define SANDGATE_POLICY_SHELL_WORDS_H

#include "base/buf.h"
#include "base/err.h"

#define SHELL_TEXT_MAX (64 << 10)
#define SHELL_NESTING_MAX 16

/* What stands between a command and the one before it. */
enum shell_join {
    SHELL_FIRST,
    SHELL_PIPE,         /* | |& */
    SHELL_AND,          /* && */
    SHELL_OR,           /* || */
    SHELL_SEQUENCE,     /* ; ;; and after a compound command */
    SHELL_BACKGROUND,   /* & and coproc */
    SHELL_NEWLINE,      /* one with a command on both sides */
    SHELL_COMPOUND,     /* then, else, elif, do, a case's pattern */
    SHELL_SUBSTITUTION, /* first in $( ) */
    SHELL_BACKTICK,     /* first in ` ` */
    SHELL_PROCESS,      /* first in <( ) or >( ) */
    SHELL_JOIN_COUNT
};

enum shell_word_flag {
    SHELL_EXPANDS = 1, /* the value is known only when it runs */
    SHELL_PATTERN = 2, /* * ? [ ] or {a,b} unquoted: may become other words */
    SHELL_QUOTED = 4,  /* some of it was quoted or escaped */
    SHELL_ASSIGNS = 8, /* NAME=value before the program */
    SHELL_SPLITS = 16, /* set by command_pairs.c alone: may become several words, or none */
};

struct shell_word {
    struct str text;
    unsigned flags;
};

struct shell_command {
    enum shell_join join;
    size_t at; /* byte of the text; inside backticks that of the first one */
    const struct shell_word *words;
    size_t n;
    size_t
        assigns; /* how many of the words are assignments; the program is behind them, if there is one */
};

struct shell_script {
    const struct shell_command *commands;
    size_t n;
    /* Where each kind of joint stands first, SIZE_MAX if nowhere. A `;` or `&` counts even where no
     * command follows, a `$( )` even when it is empty. */
    size_t joined_at[SHELL_JOIN_COUNT];
    bool
        writes; /* a redirection may write to a file: it does not lead to another descriptor or to /dev/null */

    /* Behind this: its own. */
    struct shell_command *commands_;
    struct shell_word *words_;
    size_t n_words_;
    struct buf text_;
};

/* -1 with ERR_INVALID_ARGUMENTS about the field `command` and what is wrong where. */
int shell_read(struct str text, struct shell_script *ret, struct err *err);
void shell_done(struct shell_script *script);

/* How a joint is written, for people: `&&`, `newline`. */
const char *shell_join_name(enum shell_join join);

static inline bool shell_word_known(const struct shell_word *word)
{
    return !(word->flags & (SHELL_EXPANDS | SHELL_PATTERN));
}

#define SHELL_AT_END CLEANUP(shell_done)

#endif
