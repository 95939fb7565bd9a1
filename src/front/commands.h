/* The commands of the command line, and what is said where none is meant. */
#ifndef SANDGATE_FRONT_COMMANDS_H
#define SANDGATE_FRONT_COMMANDS_H

#include <stddef.h>

struct subcommand {
    const char *name;
    int (*run)(int argc, char *const *argv);
    const char *doc;
};

/* NULL behind the last one. */
const struct subcommand *commands_at(size_t i);
/* The words behind the program's name. Returns the exit status, front_end has not been asked yet. */
int commands_run(int argc, char *const *argv);

#endif
