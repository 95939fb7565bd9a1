/* What the parts of a git directory that move together were like when a command began: HEAD, the index, refs and their
 * logs, of submodules too. What the command wrote is only taken over where they still are. */
#ifndef SANDGATE_WORK_GIT_BASE_H
#define SANDGATE_WORK_GIT_BASE_H

#include "base/buf.h"
#include "base/err.h"

#define GIT_BASE_FILE "base"
/* Stands for the git directory itself: which one it is. */
#define GIT_BASE_DIRECTORY "."

struct git_base {
    struct buf bytes;
    char **rows; /* sorted by path */
    size_t n;
};

/* Notes them in a new file of the folder `layer`. */
int git_base_write(int git, int layer, const char *path, struct err *err);
/* To be given to git_base_done either way. */
int git_base_read(struct git_base *base, int layer, struct err *err);
void git_base_done(struct git_base *base);
/* Whether a file is as it was. */
bool git_base_holds(const struct git_base *base, int git, const char *path);

#endif
