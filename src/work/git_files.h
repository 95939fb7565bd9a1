/* Files of a git directory, or of a layer over one, by descriptors. No link is followed, anywhere: who could make one
 * must not choose what is read or written through it. All return 0 or -errno unless they say otherwise. */
#ifndef SANDGATE_WORK_GIT_FILES_H
#define SANDGATE_WORK_GIT_FILES_H

#include <sys/stat.h>

#include "base/buf.h"
#include "core/path.h"

struct work;

/* -ENOENT also where a folder on the way is missing or is a file. */
int git_file_stat(int dir, const char *path, struct stat *ret);
/* A regular file, whole; -EFBIG for a larger one, -EINVAL for anything else. */
int git_file_read(int dir, const char *path, size_t max, struct buf *out);
/* Opened for reading; the descriptor or -errno. */
int git_file_open(int dir, const char *path, struct stat *ret);
/* Whether a file holds the same bytes in both: 0, 1 if not, -ECANCELED, or another -errno. */
int git_files_compare(struct work *w, int dir, int other, const char *path);
/* The folder that the last part of a path lies in, open, and that part; with `make` missing folders are made. The
 * descriptor or -errno. */
int git_file_parent(int dir, const char *path, bool make, const char **ret_name);
/* Names in a folder, a NUL behind each. */
int git_file_list(int dir, struct buf *out);
/* Removes what is in a folder that nobody else needs any more, however deep it is and whatever its modes are. */
int git_file_empty(int dir);

#endif
