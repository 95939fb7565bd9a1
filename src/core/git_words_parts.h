/* Inside of git_words_each: a command line of a git configuration as a shell reads it. git_words_read.c takes words off it,
 * git_words.c tells what they name. */
#ifndef SANDGATE_CORE_GIT_WORDS_PARTS_H
#define SANDGATE_CORE_GIT_WORDS_PARTS_H

#include "core/git_settings.h"

#define GIT_LINE_ENDS " \t\n;|&()<>"

/* What an expansion at the beginning of a word leads to. */
enum prefix {
    PREFIX_NONE,
    PREFIX_TREE,  /* the work tree */
    PREFIX_HOME,  /* not looked into */
    PREFIX_GIVEN, /* what the user writes behind an alias, and what git hands over */
    PREFIX_UNKNOWN,
};

enum place {
    PLACE_PROGRAM,
    PLACE_SCRIPT, /* behind a program that runs it */
    PLACE_ARGUMENT,
};

struct line {
    git_setting_fn fn;
    void *arg;
    const char *at;
    int depth;
    bool unread;
    /* The word at hand: as it is, and as a pattern, where what was quoted is escaped. */
    struct buf text;
    struct buf pattern;
    enum prefix prefix;
    bool joined; /* its text does not stand so in the line */
    bool quoted;
    bool glob;
    /* The command at hand. */
    enum place place;
    bool python;
    char before; /* the option that the word belongs to, C or m; c: a folder for cd */
    /* Where `cd` has gone to, with a slash behind it. */
    struct buf folder;
    bool lost; /* that cannot be told */
    /* Of the command at hand: where it was before an option named a folder, and what it was given by then. */
    struct buf around;
    unsigned entered; /* how often */
    struct buf given;
    bool given_more;
};

/* Takes the next word off the line. False: the line ends. */
bool git_line_next(struct line *l);
/* A line in the line: a script for `sh -c`, or a substitution. */
void git_line_inner(struct line *l, struct str text);
bool git_line_is_one_of(struct str text, const char *const *words);

#endif
