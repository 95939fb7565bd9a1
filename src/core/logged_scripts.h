/* Which words of a command are scripts: a record hides as little of them as it can. */
#ifndef SANDGATE_CORE_LOGGED_SCRIPTS_H
#define SANDGATE_CORE_LOGGED_SCRIPTS_H

#include <stdbool.h>

#include "base/attr.h"

enum logged_reader {
    LOGGED_NOBODY, /* it is an argument */
    LOGGED_VALUE,  /* it sets a variable */
    LOGGED_SHELL,  /* a shell reads it */
    LOGGED_CODE,   /* an interpreter does */
};

struct logged_scripts {
    const struct str *words;
    size_t n;
    size_t script; /* of the last shell; 0: it has none */
    size_t behind; /* the options of that */
    bool env;      /* `env` was among them */
    bool sets;     /* `env` is the program, and nothing but variables stands behind it */
};

/* To be asked for each word, in their order. */
enum logged_reader logged_reader(struct logged_scripts *scripts, size_t word);
/* Who reads the standard input of the command. */
enum logged_reader logged_input_reader(const struct str *words, size_t n);
/* Whether a program or builtin of this name runs text that it is given as commands of a shell. */
bool logged_reads_script(struct str name);
bool logged_is_env(struct str word);
/* Whether this is the option with which `env` makes a command of a text. */
bool logged_is_split(struct str word);

/* Where a secret at [from, to) of code ends: it is a literal or a name, and nothing that is called. */
size_t logged_code_end(struct str code, size_t from, size_t to);

#endif
