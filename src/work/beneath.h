/* The only way to a workspace's files. Every path is resolved from an open directory and cannot leave
 * it, whatever is renamed or linked meanwhile: the kernel refuses (openat2, RESOLVE_BENEATH), or each
 * component is opened by itself without following links. Nothing is checked first and opened later. */
#ifndef SANDGATE_WORK_BENEATH_H
#define SANDGATE_WORK_BENEATH_H

#include <sys/stat.h>

#include "base/err.h"
#include "core/path.h"

struct beneath_root {
    int fd;
    const char *inside; /* absolute links to these count as inside */
    const char *host;
    bool writable;
    bool no_links; /* no symbolic link is followed */
};

/* Opens path (relative, "." for the root) following links that stay inside. Never blocks on a FIFO.
 * flags as for open(2), without O_CREAT. */
int beneath_open(const struct beneath_root *root, const char *path, int flags, int *ret_fd,
                 struct err *err);
/* The same, and what was opened is a regular file; *ret_stat is of the open file. */
int beneath_open_file(const struct beneath_root *root, const char *path, int *ret_fd,
                      struct stat *ret_stat, struct err *err);

/* Where a file that is written at `path` has to be put: an open folder and a name in it that is not a
 * link. Links at the end are followed while they stay inside; with make_parents missing folders
 * are made. */
struct beneath_place {
    int dir;
    char name[PATH_NAME_MAX + 1];
};
int beneath_place(const struct beneath_root *root, const char *path, bool make_parents,
                  struct beneath_place *ret, struct err *err);
/* The same for what is to be moved, removed or looked at itself: a link at the end is not followed. The
 * root itself is no such place. */
int beneath_entry(const struct beneath_root *root, const char *path, struct beneath_place *ret,
                  struct err *err);
/* A folder in an open folder, opened for reading; -1 with errno, ELOOP for a link. */
int beneath_open_child(int dir, const char *name);
/* The same for a regular file. EINVAL for anything else. */
int beneath_open_child_file(int dir, const char *name);
/* The same for anything that can be opened for reading, without waiting; what it is has to be found out. */
int beneath_open_child_any(int dir, const char *name);
/* Makes a new file in an open folder; fails with EEXIST in errno where the name is taken. */
int beneath_create(int dir, const char *name, int *ret_fd);
/* A folder opened with O_PATH, opened for listing and fsync; -1 with errno. */
int beneath_reopen_dir(int dir);
/* Whether the last component of path itself is a symbolic link. */
int beneath_is_link(const struct beneath_root *root, const char *path, bool *ret, struct err *err);

/* The error for errno, said about a path. */
int beneath_errno(struct err *err, int error, const char *path);

#endif
