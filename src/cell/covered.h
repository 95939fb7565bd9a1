/* Which file lies under each cover. A cover that hides a file shows another one in its place, so that the file itself cannot
 * be asked any more; the mount can, by its number. */
#ifndef SANDGATE_CELL_COVERED_H
#define SANDGATE_CELL_COVERED_H

#include "core/op.h"

struct covered_one {
    uint64_t mount; /* 0: free */
    struct op_identity id;
};

struct covered {
    struct covered_one *slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

void covered_init(struct covered *covered);
void covered_done(struct covered *covered);

/* A mount was put on this file. Accepts NULL, and then does nothing. */
void covered_note(struct covered *covered, int mount, const struct op_identity *id);
/* The file that is open, or the one under the cover that is. An inode of 0: that cannot be told. */
struct op_identity covered_identity(const struct covered *covered, int fd);

#endif
