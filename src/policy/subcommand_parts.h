/* Inside of subcommand*.c. */
#ifndef SANDGATE_POLICY_SUBCOMMAND_PARTS_H
#define SANDGATE_POLICY_SUBCOMMAND_PARTS_H

#include "policy/subcommand.h"

enum program_flag {
    HAS_TARGETS = 1, /* each word is one */
    HAS_ASSIGNS = 2, /* but for NAME=value */
    HAS_PARTS = 4, /* `:` and the like divide a target, and its last part alone may mean the same */
    CUTS_HUMPS = 8,    /* `dTF` is `deployToFoo` */
    CUTS_ENDS = 16,    /* `publ` is `publish` */
    RUNS_SCRIPTS = 32, /* `run x` may be written `x` */
    HAS_GROUPS = 64,   /* `image push` is `push` */
    ENDS_AT_DASHES = 128, /* behind `--` there is no subcommand */
    BEGINS_AT_PLUS = 256, /* words that begin with `+` stand before it */
    SIGNED_WORDS = 512,   /* `install x-` removes */
};

/* Programs whose first word says what they do. Lists have a blank before and behind each word. */
struct program {
    const char *names;
    const char *values; /* options before it that take the next word */
    const char *deeper; /* first words that need a second; `*` for all */
    const char *flags;  /* options before it that do not, and change nothing about what it does */
    const char *
        folders; /* of `values`: they only choose where it works; program_options.c looks at them */
    unsigned rules;
    const char *through; /* first words behind which another subcommand follows somewhere */
    const char *alone;   /* what it does without a word */
    const char *acts;    /* subcommands that an option stands for: `build --push` */
};

#endif
