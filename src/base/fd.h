/* File descriptors: scoped close and complete transfers. */
#ifndef SANDGATE_BASE_FD_H
#define SANDGATE_BASE_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

/* Closes and sets to -1; accepts -1; keeps errno. */
void fd_closep(int *fd);
#define FD_AT_END CLEANUP(fd_closep)

/* All n bytes, or -errno. */
int fd_write_all(int fd, const void *bytes, size_t n);
/* Up to n bytes until end of file; the count, or -errno. */
ssize_t fd_read_upto(int fd, void *bytes, size_t n);
/* Opens a file of one's own: never through a link, and never waiting for whoever has the other end of a FIFO. `flags`: the
 * access, and perhaps O_CREAT. -1 with errno, which fd_is_special knows where it is no regular file. */
int fd_open_plain(int dir, const char *name, int flags);
bool fd_is_special(int error);
/* Opens what lies beneath `dir`, through no link; closed on exec. -1 with errno. */
int fd_open_beneath(int dir, const char *path, int flags, mode_t mode);
/* Whether both are known to be the same file or folder. */
bool fd_same_file(int a, int b);
/* What is in an open folder, from its first entry on, by a descriptor of its own. NULL with errno; to be closed with closedir. */
DIR *fd_list(int dir);
/* The next entry of any list. NULL at the end, and where *error becomes an errno value: then there may be more. */
struct dirent *fd_list_next(DIR *list, int *error);
int fd_set_nonblock(int fd);
/* Whether this process can open n more, as far as the lowest number that is free tells. */
bool fd_has_room(unsigned n);

#endif
