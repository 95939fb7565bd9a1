/* The temporary names that calls of this worker have at the moment. Only these are left out of lists and searches: a
 * name that merely looks like one is shown. */
#ifndef SANDGATE_WORK_TEMPS_H
#define SANDGATE_WORK_TEMPS_H

#include <stddef.h>

#include "base/buf.h"

#define TEMP_NAME_MAX 64

struct temp {
    struct temp *next; /* of all that are in use */
    int dir;           /* borrowed, open while it is in use */
    char name[TEMP_NAME_MAX];
};

enum temp_kind {
    TEMP_FILE,  /* content on its way to its name */
    TEMP_FOLDER /* a folder that is being removed */
};

/* Makes a name of this tag that no other call has, and takes it into use. `attempt` counts from 0: names of later
 * attempts are not to be guessed, so that nobody can take them all. */
void temp_begin(struct temp *temp, int dir, struct str tag, enum temp_kind kind, unsigned attempt);
void temp_end(struct temp *temp);

/* Whether the name in an open folder is one in use. */
bool temp_is_in_use(int dir, const char *name);
/* Whether a writer with this tag makes such names, for files or for folders. */
bool temp_is_named(const char *name, struct str tag, enum temp_kind kind);

#endif
