/* What the processes of a command use, found by looking into /proc: for limits that no cgroup holds.
 *
 * Made for a command's init, the first process of its own pid namespace, which looks every 100 ms and
 * once at the end. It allocates nothing and uses openat, read, readlinkat, close, getdents64, lseek, faccessat, fstatfs,
 * getrusage, kill and a netlink socket.
 *
 * Memory is: private pages and shared ones, once where that decides, files in the command's tmpfs, System V objects, page tables,
 * mappings, socket buffers (of all commands of the session, which share a network namespace), and an estimate for threads, descriptors
 * and files in epoll sets. A process that cannot be looked into because it is not dumpable is killed: it would count for nothing.
 *
 * Looking is not holding. Between two looks more can be used; a page of shared anonymous memory that no process has in
 * its page tables, what descriptors hold that only a message in a socket holds, small kernel objects (file locks, inotify
 * watches) and what was written by children whose parent
 * ignores SIGCHLD are not seen. Rlimits bound each process. */
#ifndef SANDGATE_CELL_WATCH_H
#define SANDGATE_CELL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

#define WATCH_TMPFS_MAX 4

/* Zero is no limit. */
struct watch_limits {
    uint64_t memory;
    uint64_t buffers; /* of sockets: a memory cgroup leaves out those of unix sockets */
    uint32_t processes;
    uint64_t written;
};

/* Without this process itself, whose children count once they were waited for. */
struct watch {
    int proc;                   /* /proc, open for reading; borrowed */
    int tmpfs[WATCH_TMPFS_MAX]; /* of the command, whose files are memory; borrowed */
    int n_tmpfs;
    int sockets; /* from held_open; borrowed; below 0: none */
    uint64_t
        exact_from; /* shared memory is counted exactly when it matters for this limit; 0 never */
    uint64_t buffers_enough; /* sockets are not counted further */

    bool descriptors;   /* there may be some whose memory has to be looked for */
    uint64_t epoll_max; /* files in epoll sets, at most */

    uint64_t memory; /* bytes: what is private, what is shared once, files in tmpfs */
    uint64_t memory_peak;
    uint64_t rough_peak; /* the highest sum that was replaced by an exact one */
    uint64_t buffers;
    uint64_t epoll_watches;
    uint64_t reserved;  /* bytes that may be held besides; not in the peak */
    uint32_t processes; /* threads */
    uint32_t processes_peak;
    uint64_t written;   /* bytes that went or will go to disks; never falls */
    uint64_t allocated; /* bytes of disks that were asked for without being written */
    bool uncounted;     /* some look could not tell what sockets hold */
    int program;        /* that this process has started; 0: none */
    uint32_t patience;  /* looks for which it may not be looked into */
    uint32_t hidden;    /* processes that were killed because they cannot be looked into */
};

enum watch_limit { WATCH_OK, WATCH_MEMORY, WATCH_PROCESSES, WATCH_WRITTEN };

void watch_init(struct watch *w, int proc_fd, const struct watch_limits *limits);
/* Ignored beyond WATCH_TMPFS_MAX. */
void watch_add_tmpfs(struct watch *w, int fd);
/* The program that this process has started with vfork. Where its parent is not dumpable, nor is it until the kernel has loaded it,
 * which is after vfork has returned: on a busy machine a look can come in between. So it has some looks of time. */
void watch_add_program(struct watch *w, int pid);
/* Counts what fallocate(2) is asked for: the kernel accounts for that to nobody. */
void watch_add_allocated(struct watch *w, uint64_t bytes);
/* A process makes an epoll set or an inotify descriptor: from now on these are looked for. Files in epoll sets count for
 * what they take, and against the number that a user may have; each inotify descriptor for the events that it can hold.
 * Nothing where memory is not watched. */
void watch_add_descriptors(struct watch *w);
void watch_look(struct watch *w);
/* When all have ended and were waited for. */
void watch_look_last(struct watch *w);
/* By the last look; memory and processes as they were then. */
enum watch_limit watch_exceeded(const struct watch *w, const struct watch_limits *limits);

/* The number behind `key` ("RssAnon:") at the start of a line of a /proc file; 0 when there is none. */
uint64_t watch_field(const char *text, const char *key);

#endif
