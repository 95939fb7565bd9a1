/* Names that stand for the same program: `pip` and `pip3.11`, `vim` and `vim.basic`, `apt` and `apt-get`. A rule that says
 * no about one of them is about the others too; one that approves is not. */
#ifndef SANDGATE_POLICY_PROGRAM_NAMES_H
#define SANDGATE_POLICY_PROGRAM_NAMES_H

#include <stdbool.h>

#include "base/attr.h"

#define PROGRAM_NAME_ROOM 64
/* No program that is looked for within a word has a longer name. */
#define PROGRAM_NAME_LONG 40

/* One name for all that may be the same program: without version, flavour and machine. In `room` or a constant. */
struct str program_plain_name(struct str name, char room[PROGRAM_NAME_ROOM]);
/* Of names without folders. `python` may be `python3`, `python2` is not. */
bool program_is_same(struct str a, struct str b);
/* The same of one program and many names. */
struct program_wanted {
    struct str name;
    const char *twins; /* NULL: it has none */
    struct str plain;
    char room[PROGRAM_NAME_ROOM];
};
void program_want(struct program_wanted *ret, struct str name);
bool program_is_wanted(const struct program_wanted *wanted, struct str name);
/* Whether its plain name may be another one. */
bool program_may_be_other(struct str name);
/* What a program of its own does of another one: npx is `npm exec`. NULL: nothing. */
const char *program_stands_for(struct str name, const char **ret_program);
/* The names that one package gives to its program, a blank before and behind each: whoever denies the program denies these,
 * too. NULL: none. */
const char *program_family(struct str name);
/* Whether a name stands in a family, or for a subcommand of this program. */
bool program_has_others(struct str name);
/* A file in the folder of a package: `npm` of `/usr/lib/node_modules/npm/bin/npm-cli.js`. n is 0 for none. */
struct str program_package(struct str path);
/* Of a word of python: `pip` of `pip._internal`, `-mpip.__main__` and `lib/pip/__main__.py`. n is 0 for anything else. */
struct str program_module(struct str word);
bool program_is_python(struct str name);

#endif
