/* Names of programs among the words of a use: what a program that starts others may start. A text within a word
 * (`sh -c 'git push'`) is taken apart without regard to what it means. */
#ifndef SANDGATE_POLICY_COMMAND_NAMES_H
#define SANDGATE_POLICY_COMMAND_NAMES_H

#include "policy/command_walk.h"

/* Whether some word behind the program names one that has subcommands. */
bool command_names_any(const struct command_view *view);

/* The same of the values of variables that are set for it (`GIT_PAGER='git push' git log`). */
bool command_names_assigned(const struct command_view *view);

/* All names behind the program and in such values, a blank before and behind each; `*` for a word that is known only when it runs.
 * A `?` behind them stands for words that come from elsewhere and follow those that are there. */
char *command_names_read(const struct command_view *view);

/* Whether such names hold a program, and behind it the last word of a subcommand or one that may stand for it. */
bool command_names_hold(const char *names, const char *program, const char *subcommand);

#endif
