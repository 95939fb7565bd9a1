/* What a use of a program may start besides itself: by a variable, an option, its input, or because it is there for that. */
#ifndef SANDGATE_POLICY_COMMAND_STARTS_H
#define SANDGATE_POLICY_COMMAND_STARTS_H

#include "policy/program_options.h"

/* Fills in what a rule about a subcommand has to look at besides the subcommand itself. `fault`: an option makes the program
 * do more than it does by itself. */
void command_starts_note(const struct program_use *use, struct command_pair *pair, bool fault,
                         bool understood);

/* Whether a variable that is set for the use, or by it, makes a program start what cannot be told. */
bool command_variables_open(const struct command_view *view);

#endif
