/* Files that a pattern in a git configuration means, as a shell would find them. */
#ifndef SANDGATE_WORK_GIT_GLOBS_H
#define SANDGATE_WORK_GIT_GLOBS_H

#include "work/git_leads.h"

#define GIT_GLOB_ENTRIES_MAX 20000
#define GIT_GLOB_DEPTH_MAX 16

/* Tells each file that matches. False: the pattern cannot be read, or there is too much to look through. */
bool git_glob_each(const struct beneath_root *root, const char *pattern, enum git_lead_from from,
                   git_lead_fn fn, void *arg);

#endif
