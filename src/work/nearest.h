/* The lines of a file that are most like a text which is not in it, for an error message.
 *
 * One pass over the file: a few milliseconds for 10 MB. */
#ifndef SANDGATE_WORK_NEAREST_H
#define SANDGATE_WORK_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

/* What is easy to tell about how the two differ. */
enum nearest_how {
    NEAREST_OTHER,
    NEAREST_CASE,
    NEAREST_INDENT,
    NEAREST_TABS,   /* indentation: the file has tabs, the text spaces */
    NEAREST_SPACES, /* the other way round */
    NEAREST_TRAILING,
    NEAREST_BLANKS,
};

struct nearest {
    size_t first_line;
    size_t last_line;
    struct str text; /* of these lines, borrowed from the file */
    enum nearest_how how;
    size_t differs; /* the first line that differs, or 0 where that is not told */
};

/* Rooms for what the next two functions write, with the NUL. */
#define NEAREST_WHAT 160
#define NEAREST_SHOWN 300

/* False when nothing in the file is much like it. */
bool nearest_find(struct str file, struct str text, struct nearest *ret);
/* "lines 3 to 5, where only the indentation differs" */
void nearest_describe(const struct nearest *nearest, char out[NEAREST_WHAT]);
/* The text, cut, as printable UTF-8 with newlines and tabs: what is not UTF-8 is read as Latin-1. */
void nearest_show(const struct nearest *nearest, char out[NEAREST_SHOWN]);

#endif
