/* Denied programs: a stub (cell/stub.h) is mounted over each of their files in the launcher's mount namespace, which
 * every command's begins with. So it does not matter how a command starts one, and there is nothing to copy. */
#ifndef SANDGATE_CELL_DENIED_H
#define SANDGATE_CELL_DENIED_H

#include "base/err.h"
#include "cell/denied_files.h"
#include "cell/spec.h"

/* One list. Its stubs lie in a tmpfs of its own, which a namespace keeps that was copied while the list was current. So a
 * command that runs is covered again with the list that it began with, whichever is current. */
struct denied {
    size_t refs;
    struct buf body; /* as it came; the next three point into it */
    const char *path;
    bool shell;
    struct str packed;
    struct denied_files files;
    size_t n_stubs; /* how many of them have one */
    bool mounted;   /* the folder of the stubs, in each namespace that has this list */
    bool found;     /* the files were looked for */
    int proc;       /* /proc/self, where that is not to be had by its path; else -1 */
    bool broken;    /* the list could not be read */
    struct err why; /* with a message: not all of them are covered, and no command is started */
};

/* The body of a FRAME_DENIED: the commands' PATH and `s` or `-` (command lines need /bin/bash), a NUL behind each; then a
 * list as in core/denials.h. */
void denied_write(const char *path, bool shell, struct str packed, struct buf *out);

/* An empty list, with one reference. */
struct denied *denied_new(void);
struct denied *denied_ref(struct denied *denied);
void denied_unref(struct denied *denied);

/* Replaces the current list and drops that reference; covers the files of the new one. False: it is the same. */
bool denied_take(struct denied **denied, const struct cell_spec *spec, struct str body);
/* Covers what is not covered in this process's mount namespace: a program may have been replaced on the host. -1:
 * denied->why. */
int denied_cover(struct denied *denied, const struct cell_spec *spec);
/* Whether a file that had been removed is there again: no mount goes away then, so nothing is heard of it. */
bool denied_returned(const struct denied *denied);
/* The name of a denial, by the number that its stub tells; NULL: there is none. */
const char *denied_name(const struct denied *denied, uint64_t number);

#endif
