/* The words that say what a program does: `commit` of git, `run test` of npm, each target of make. Rules name them. */
#ifndef SANDGATE_POLICY_SUBCOMMAND_H
#define SANDGATE_POLICY_SUBCOMMAND_H

#include "base/buf.h"
#include "policy/command_walk.h"

/* A program that has subcommands or targets. */
struct program;

/* NULL: rules know none of its words. */
const struct program *program_find(struct str name);
/* Every word of it that is no option is a target, in any order. */
bool program_has_targets(const struct program *program);
/* `image push` is `push`. */
bool program_has_groups(const struct program *program);
/* How many words a rule may name behind the program, where this is the first. */
unsigned program_words_max(const struct program *program, struct str first);

/* The subcommand of a use. */
struct subcommand {
    struct buf text;
    size_t at;   /* of its first word */
    bool sure;   /* it is what stands there, whatever the options before it do */
    bool exact;  /* and they change nothing about what it does */
    size_t last; /* of its last word */
};

void subcommand_read(const struct command_view *view, const struct program *program,
                     struct subcommand *ret);

/* Whether a word behind it may be another subcommand: `workspace a publish`, `build --push`. */
bool subcommand_goes_on(const struct command_view *view, const struct program *program,
                        const struct subcommand *sub);
/* Adds such a word, a blank behind it; `*` for one that is not known. */
void subcommand_add_later(const struct command_view *view, const struct program *program, size_t i,
                          struct buf *out);

/* The words of a use that are targets, as indexes. One that is known only when it runs may be several, or a way of writing
 * another one: it is left out, and `open` set. */
#define TARGETS_MAX 16
struct targets {
    size_t at[TARGETS_MAX];
    size_t n;
    bool open;  /* there may be others */
    bool exact; /* options before the first change nothing about what it does */
};

void targets_read(const struct command_view *view, const struct program *program,
                  struct targets *ret);

/* Whether the program may take the given words for the others: an abbreviation, another name, a longer way of writing. */
bool subcommand_may_be(const char *program, const char *given, const char *wanted);
/* Whether that can be so for any words of it. */
bool program_writes_loosely(struct str program);

static inline bool word_is_fixed(const struct command_view *view, const struct shell_word *word)
{
    bool from_find = view->n_found && word->text.n && memmem(word->text.p, word->text.n, "{}", 2);
    bool from_xargs = view->replaced.n && word->text.n &&
                      memmem(word->text.p, word->text.n, view->replaced.p, view->replaced.n);
    return shell_word_known(word) && !from_find && !from_xargs;
}

#endif
