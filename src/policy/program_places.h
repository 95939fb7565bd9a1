/* Uses of a program where what it starts is told by the place of a word: `docker exec c PROGRAM`, `sh SCRIPT`. */
#ifndef SANDGATE_POLICY_PROGRAM_PLACES_H
#define SANDGATE_POLICY_PROGRAM_PLACES_H

#include "policy/program_options.h"

/* Whether a word at such a place is known only when it runs, and so may be any program. `plain` is the program's plain name. */
bool program_places_open(const struct program_use *use, struct str plain);

/* The same for `parallel` and its like, whose program may come from their input. */
bool program_of_input_open(const struct command_view *view);

/* Of an interpreter: the names that its script or module may have as a program, a blank before and behind each; the caller frees
 * it. NULL: none. */
char *program_file_names(const struct command_view *view);

#endif
