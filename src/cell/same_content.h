/* Whether two files hold the same. */
#ifndef SANDGATE_CELL_SAME_CONTENT_H
#define SANDGATE_CELL_SAME_CONTENT_H

#include <stdbool.h>

/* Of regular files that have the same size. One that cannot be read may hold the same. */
bool same_content(const char *path, const char *other);

#endif
