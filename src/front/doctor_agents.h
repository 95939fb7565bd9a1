/* Agents that are installed here, and whether their settings name Sandgate. Only looks. */
#ifndef SANDGATE_FRONT_DOCTOR_AGENTS_H
#define SANDGATE_FRONT_DOCTOR_AGENTS_H

#include <stdbool.h>
#include <stddef.h>

#define AGENT_FILES 5

struct agent_row {
    const char *name; /* its program's, too */
    /* `~/`: at home; `./`: in the working directory; `+/`: in the folder of settings, ~/.config as a rule. */
    const char *files[AGENT_FILES];
};

extern const struct agent_row agent_rows[];
extern const size_t agent_row_count;

/* Where PATH has the program; NULL: nowhere. To be freed. */
char *agent_program(const struct agent_row *row);
/* The first of its files that names Sandgate; NULL: none does. To be freed. */
char *agent_settings(const struct agent_row *row);

#endif
