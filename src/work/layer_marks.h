/* What has to be known of a change before it may be taken over: whether the project was changed as well, and whether it is
 * something that programs on the host obey. */
#ifndef SANDGATE_WORK_LAYER_MARKS_H
#define SANDGATE_WORK_LAYER_MARKS_H

#include "work/layer_node.h"

/* In the layer's folder: packed op_changed, of which `before` is the project's as it was when the session changed it first,
 * or as a commit left it. `conflict`: it had been changed before that. */
#define LAYER_RECORD "record"

struct layer_marks {
    struct work *w;
    int64_t since_ns; /* 0: no conflicts are asked for */
    const struct beneath_root *root; /* the project; borrowed */
    struct str found; /* what a scan of it found guarded, packed op_guarded; borrowed */
    struct buf record;
    struct op_changed *known; /* in the order of paths */
    size_t n;
};

/* Both sides of a path; NULL where it is not there. */
struct layer_sides {
    int base;
    int upper;
    const char *name;
    const struct stat *from;
    const struct stat *to;
};

int layer_marks_read(struct layer_marks *marks, struct work *w, int layer, int64_t since_ns,
                     struct err *err);
void layer_marks_done(struct layer_marks *marks);
/* Of the path itself, or of a folder that it lies in and that the project had not; NULL: nothing is known. */
const struct op_changed *layer_marks_find(const struct layer_marks *marks, struct str path);
void layer_mark(const struct layer_marks *marks, const struct layer_sides *sides,
                struct op_changed *change);
/* Whether any part of the session's changes of the folder makes it a git directory, whatever its name, or leaves it one. -1: not
 * there at that side. */
bool layer_makes_git(int base, int upper);

#endif
