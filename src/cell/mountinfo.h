/* The mounts of this process's namespace, and under which paths one file is seen through them. */
#ifndef SANDGATE_CELL_MOUNTINFO_H
#define SANDGATE_CELL_MOUNTINFO_H

#include <stdint.h>

#include "base/buf.h"

/* A line of mountinfo: "36 25 8:1 ROOT POINT … - TYPE SOURCE OPTIONS". The device and the path in its file system are the same for all names
 * that a folder has. */
struct mountinfo_line {
    uint64_t id;
    char *device;
    char *root;
    char *point;
    char *system; /* from TYPE on, as it stands there */
};

struct mountinfo {
    struct buf text; /* the lines point into it */
    struct mountinfo_line *all;
    size_t n;
};

/* `proc` is a folder /proc/self that was opened before, or -1: it is looked up. -errno. */
int mountinfo_read(int proc, struct mountinfo *ret);
void mountinfo_done(struct mountinfo *info);
/* A space, a tab, a line end and a backslash are written as \ooo. */
void mountinfo_unescape(char *text);

/* The mount that a path is on; a link at its end is not followed. -errno, -ESTALE where the mount is not among these. */
int mountinfo_of(const struct mountinfo *info, const char *path, const struct mountinfo_line **ret);
/* Calls `each` with every other path of what is at the absolute `path`, which has no link on the way. -errno as above. */
int mountinfo_names(const struct mountinfo *info, const char *path,
                    void (*each)(void *arg, const char *other), void *arg);
/* The same for every mount of something in the folder `path`, if it is not mounted there. */
int mountinfo_parts(const struct mountinfo *info, const char *path,
                    void (*each)(void *arg, const char *other), void *arg);

#endif
