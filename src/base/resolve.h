/* openat2(2), and the same name by name where a filter around this process has no such call, as that of a sandbox in which
 * this program is started again. */
#ifndef SANDGATE_BASE_RESOLVE_H
#define SANDGATE_BASE_RESOLVE_H

#include <stdint.h>
#include <sys/types.h>

/* `resolve` has to contain RESOLVE_BENEATH. Always close-on-exec. -1 with errno. Without openat2 a link on the way leads
 * where it says at that moment, and never out of the folders that were opened. */
int resolve_open(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);
/* The second way alone. */
int resolve_by_names(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);

#endif
