/* Git directories in a folder that scans do not look into: one that is secret, or protected as a whole. Git on the host
 * finds them there all the same. */
#ifndef SANDGATE_WORK_HIDDEN_GIT_H
#define SANDGATE_WORK_HIDDEN_GIT_H

#include "work/work.h"

/* Adds what is in the folder `name` of `dir` to the reply's body; `path` is its path in the root. What could not be
 * looked through or named is noted in `ret`. */
void hidden_git_find(struct work *w, int dir, const char *name, struct str path,
                     struct op_quarantine_reply *ret);

#endif
