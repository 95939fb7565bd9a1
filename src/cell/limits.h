/* Limits of commands by the kernel's cgroups, from the gate's side.
 *
 * What can be used differs: one tree for all (cgroup2; a plain user needs a part of it that was given
 * to him, as systemd does for a user's session), a tree for each kind (cgroup1; root only), or nothing.
 * limits_open tries and never fails for that reason: what no group limits must be limited by rlimits
 * and by looking (cell/watch.h).
 *
 * Making a group takes a good part of a millisecond, so they are kept and used again. A gate that was
 * killed leaves its groups behind; the next one in the same place removes them, by their names. */
#ifndef SANDGATE_CELL_LIMITS_H
#define SANDGATE_CELL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum limit_kind { LIMIT_MEMORY, LIMIT_PROCESSES, LIMIT_CPU, LIMIT_KINDS };

/* Zero is no limit. A command's init and every thread count as processes. */
struct limits_want {
    uint64_t memory;
    uint32_t processes;
    uint32_t cpu_millis; /* 1000 is one core */
};

/* Since the group was taken. */
struct limits_seen {
    uint64_t peak_memory; /* with the pages of files it read or wrote; 0 when unknown */
    uint64_t
        oom_kills; /* cgroup2 kills all in the group together, init too, and counts one twice */
    uint64_t process_limit_hits; /* times that one more was refused */
    int64_t cpu_ms;              /* -1: not known */
};

struct limits;
struct limit_group;

/* `tag` is random text of this gate: letters and digits. -EINVAL when it is not. */
int limits_open(struct limits **ret, const char *tag);
/* The same, told where to read what /proc/self/mountinfo and /proc/self/cgroup say. */
int limits_open_from(struct limits **ret, const char *tag, const char *mounts_file,
                     const char *cgroup_file);
/* Kills what is left in groups and removes them all. Accepts NULL. */
void limits_close(struct limits *l);

/* "cgroup2", "cgroup1" or "rlimit". */
const char *limits_mechanism(const struct limits *l);
/* No group limits anything. */
bool limits_is_empty(const struct limits *l);
/* Whether a group limits this, so that nobody else has to. */
bool limits_by_group(const struct limits *l, enum limit_kind kind);

/* An empty group with these limits; NULL when there is none to be had. */
struct limit_group *limits_take(struct limits *l, const struct limits_want *want);
/* Whether the last one was not to be had for want of descriptors. */
bool limits_was_short(const struct limits *l);
/* Whether there are groups. */
bool limits_in_use(const struct limits *l);
/* Gives up groups that are kept for later commands, with their descriptors. */
void limits_drop_spare(struct limits *l);
/* Other limits for one that is taken, also when processes are in it. -1: it cannot have them. */
int limit_group_change(struct limit_group *g, const struct limits_want *want);
/* Whatever still runs in it is killed. Accepts NULL. */
void limits_give_back(struct limits *l, struct limit_group *g);
/* The same when the last of its processes is about to end by itself. */
void limits_leave(struct limits *l, struct limit_group *g);

/* The descriptors through which a process enters by writing "0" to each; returns how many. They stay
 * the group's. */
int limit_group_fds(const struct limit_group *g, int fds[LIMIT_KINDS]);
void limit_group_read(const struct limit_group *g, struct limits_seen *ret);

#endif
