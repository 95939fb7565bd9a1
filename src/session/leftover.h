/* Writes that were cut off, whose temporary files are still to be removed. */
#ifndef SANDGATE_SESSION_LEFTOVER_H
#define SANDGATE_SESSION_LEFTOVER_H

#include "cell/spec.h"

struct leftover {
    struct leftover *next;
    size_t root;
    char *path;
    char tag[32];  /* in the temporary files' names */
    unsigned lost; /* cells that died while they removed them */
};

/* NULL: the path or the tag is longer than any gate writes. */
struct leftover *leftover_add(struct leftover **list, size_t root, struct str path, struct str tag);
/* Takes over what dead gates left in the roots of this spec. True: some of them may not have ended yet. */
bool leftover_collect(struct leftover **list, int state_fd, const struct cell_spec *spec);
/* Leaves them for the next gate and empties the list. */
void leftover_leave(struct leftover **list, int state_fd, const struct cell_spec *spec);
/* Takes the first off the list; NULL at the end. */
struct leftover *leftover_take(struct leftover **list);
void leftover_free(struct leftover *leftover);

#endif
