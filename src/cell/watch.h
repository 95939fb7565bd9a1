/* What the processes of a command use, found by looking into /proc: for limits that no cgroup holds.
 *
 * Made for a command's init, the first process of its own pid namespace, which looks every 100 ms and
 * once at the end. It allocates nothing and uses openat, read, close, getdents64, lseek and fstatfs.
 *
 * Looking is not holding. Between two looks more can be used; a process that made its own files in
 * /proc unreadable (PR_SET_DUMPABLE) hides what it writes until it ends; what was written by children
 * whose parent ignores SIGCHLD is forgotten with them; memory that is only held by a descriptor
 * (memfd) belongs to nobody. Rlimits bound each of these. */
#ifndef SANDGATE_CELL_WATCH_H
#define SANDGATE_CELL_WATCH_H

#include <stdint.h>

#include "base/attr.h"

#define WATCH_TMPFS_MAX 4

/* Zero is no limit. */
struct watch_limits {
    uint64_t memory;
    uint32_t processes;
    uint64_t written;
};

/* Without this process itself, whose children count once they were waited for. */
struct watch {
    int proc;                   /* /proc, open for reading; borrowed */
    int tmpfs[WATCH_TMPFS_MAX]; /* of the command, whose files are memory; borrowed */
    int n_tmpfs;
    uint64_t
        exact_from; /* shared memory is counted exactly when it matters for this limit; 0 never */

    uint64_t memory; /* bytes: what is private, what is shared once, files in tmpfs */
    uint64_t memory_peak;
    uint32_t processes; /* threads */
    uint32_t processes_peak;
    uint64_t written; /* bytes that went or will go to disks; never falls */
};

enum watch_limit { WATCH_OK, WATCH_MEMORY, WATCH_PROCESSES, WATCH_WRITTEN };

void watch_init(struct watch *w, int proc_fd, const struct watch_limits *limits);
/* Ignored beyond WATCH_TMPFS_MAX. */
void watch_add_tmpfs(struct watch *w, int fd);
void watch_look(struct watch *w);
/* When all have ended and were waited for. */
void watch_look_last(struct watch *w);
/* By the last look; memory and processes as they were then. */
enum watch_limit watch_exceeded(const struct watch *w, const struct watch_limits *limits);

/* The number behind `key` ("RssAnon:") at the start of a line of a /proc file; 0 when there is none. */
uint64_t watch_field(const char *text, const char *key);

#endif
