/* Reading an open file to its end, whatever size it tells: files of procfs and FUSE tell 0, and any file may grow. */
#ifndef SANDGATE_WORK_TO_END_H
#define SANDGATE_WORK_TO_END_H

#include "work/work.h"

typedef int (*take_bytes_fn)(void *arg, struct str bytes, struct err *err);

/* 0 at the end; 1 where there are more than `max` bytes, not all of which were taken; -1. */
int work_read_to_end(struct work *w, int fd, const char *path, int64_t max, take_bytes_fn take,
                     void *arg, struct err *err);
/* The hash of all of it. */
int work_hash_file(struct work *w, int fd, int64_t size, const char *path, char out[HASH_HEX + 1],
                   struct err *err);
/* How much is read of a file that had `size` bytes when it was opened, and what is said where there is more. */
int64_t work_growth_max(int64_t size);
int work_grows(struct err *err, const char *path);

#endif
