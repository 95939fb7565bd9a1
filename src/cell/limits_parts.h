/* What the files of cell/limits.h share. */
#ifndef SANDGATE_CELL_LIMITS_PARTS_H
#define SANDGATE_CELL_LIMITS_PARTS_H

#include <limits.h>
#include <sys/types.h>

#include "base/attr.h"
#include "cell/limits.h"

#define LIMIT_BIT(kind) (1u << (kind))
#define LIMIT_ALL ((1u << LIMIT_KINDS) - 1)
#define LIMIT_NAME_MAX 160

/* A mounted tree of groups in which this process stands. */
struct limits_place {
    bool v2;
    unsigned kinds;       /* what is limited there; with cgroup2 only the tree itself knows */
    char mount[PATH_MAX]; /* its top */
    char own[PATH_MAX];   /* this process's group, at or beneath `mount` */
};

/* One for each kind at most, or cgroup2 and one for each kind it does not have. */
struct limits_places {
    struct limits_place place[1 + LIMIT_KINDS]; /* cgroup2 comes first */
    size_t count;
};

/* Reads the texts of /proc/self/mountinfo and /proc/self/cgroup. */
void limits_find(struct str mountinfo, struct str cgroups, struct limits_places *ret);

/* A directory in which groups can be made, and what they limit. */
struct limits_tree {
    int dir;
    bool v2;
    unsigned kinds;
};

/* Tries the directories of a place that may do; true when one limits some of `kinds`, and then holds a
 * group of this name. */
bool limits_tree_open(struct limits_tree *t, const struct limits_place *p, unsigned kinds,
                      const char *first_name);

/* Begins the names of all groups of a gate. False when /proc does not say who this process is. */
bool limits_prefix(char prefix[LIMIT_NAME_MAX], const char *tag);
/* Removes empty groups of gates that no longer live. */
void limits_sweep(const struct limits_tree *t);

enum limit_group_state {
    GROUP_FREE,
    GROUP_TAKEN,
    GROUP_LEFT,   /* its last process is about to end by itself */
    GROUP_ENDING, /* what is left in it is being killed */
};

struct limit_group {
    struct limit_group *next;
    const struct limits *limits;
    enum limit_group_state state;
    char name[LIMIT_NAME_MAX];
    int procs[LIMIT_KINDS]; /* of each tree; -1 beyond the last */
    int peak, usage, memory_events, process_events, process_count, cpu;
    struct limits_want has;
    bool processes_known; /* whether `has` is true of processes */
    bool peak_resets;
    bool cpu_stat; /* `cpu` is a cpu.stat of cgroup2 */
    uint64_t peak_then, usage_then, cpu_us_then;
    struct limits_seen then;
};

struct limits {
    bool was_short;
    char prefix[LIMIT_NAME_MAX];
    struct limits_tree trees[LIMIT_KINDS];
    size_t n_trees;
    uint64_t made;
    struct limit_group *groups;
};

struct limit_group *limit_group_new(const struct limits *l, uint64_t number);
/* Removes it when nothing is in it: 0, -EBUSY, or another -errno. Frees nothing. */
int limit_group_remove(const struct limit_group *g);
void limit_group_free(struct limit_group *g);
/* Whether more memory than this still counts there. */
bool limit_group_holds(const struct limit_group *g, uint64_t bytes);
/* Sets what differs and notes where its counters stand. */
int limit_group_begin(struct limit_group *g, const struct limits_want *want);
bool limit_group_empty(const struct limit_group *g);
void limit_group_kill(struct limit_group *g);

#endif
