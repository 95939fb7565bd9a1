/* Which folders the way to a path leads through, symbolic links included. */
#ifndef SANDGATE_SESSION_WAY_H
#define SANDGATE_SESSION_WAY_H

#include <stdbool.h>

/* Whether the kernel looks up a name in `folder` (an absolute path without links), or below it, to reach an absolute
 * path. True also where that cannot be told. */
bool way_leads_through(const char *path, const char *folder);

/* Calls fn for the folder of each link that is followed to reach an absolute path. False: not all of them can be told. */
typedef void (*way_link_fn)(void *arg, const char *folder);
bool way_each_link(const char *path, way_link_fn fn, void *arg);

#endif
