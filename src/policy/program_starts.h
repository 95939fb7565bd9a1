/* Uses of a program that start another one, or run code, which their words name. */
#ifndef SANDGATE_POLICY_PROGRAM_STARTS_H
#define SANDGATE_POLICY_PROGRAM_STARTS_H

#include "policy/program_options.h"

/* Whether it may be any program, with any words: what names it is known only when it runs. */
bool program_starts_open(const struct program_use *use);
/* The same of the words from `at` on, which are a program that the first one runs. */
bool program_inner_open(const struct command_view *outer, size_t at);
/* Whether words of the use may be a program that it starts, whatever its options are. */
bool program_starts_words(const struct program_use *use);

/* Whether a program starts what its words name, so that each of them counts. */
bool program_starts_again(struct str name);

#endif
