/* What taking over a layer over a git directory answers. */
#ifndef SANDGATE_CORE_OP_GIT_H
#define SANDGATE_CORE_OP_GIT_H

#include <stdint.h>

/* The body is packed layers: names that were not taken over, the first OP_DROPPED_TOLD of them and those because of
 * which nothing was. */
#define OP_DROPPED_TOLD 16
#define OP_DROPPED_MAX 24
struct op_git_import_reply {
    int64_t taken;   /* files that were written or removed */
    int64_t dropped; /* names that were not taken over */
    int64_t kept;    /* objects and packs that the command removed, and that stay */
    int64_t shallow; /* files that say where history ends, among those taken over */
    int64_t
        refused; /* git directories of which nothing was taken over, because of one of these names */
};

#endif
