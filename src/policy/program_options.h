/* What is known about the options of programs: which make one run other programs, write files, read another
 * configuration or reach out. An approval of the program is none of those. */
#ifndef SANDGATE_POLICY_PROGRAM_OPTIONS_H
#define SANDGATE_POLICY_PROGRAM_OPTIONS_H

#include "policy/command_walk.h"

/* NULL, or what is against this use of a program, for people: "`-o` of `sort` writes a file". The text is in `room`. The
 * subcommand is "" where the program has none. */
#define PROGRAM_FAULT_MAX 120
const char *program_fault(const struct command_view *view, struct str subcommand,
                          char room[PROGRAM_FAULT_MAX]);

#endif
