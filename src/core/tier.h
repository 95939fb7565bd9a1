/* What a cell enforces, and by what. The plan of the cell makes it (cell/tier.h). */
#ifndef SANDGATE_CORE_TIER_H
#define SANDGATE_CORE_TIER_H

#include <stdbool.h>

#include "base/json_out.h"

/* The weakest first. */
enum tier_id {
    TIER_NONE,     /* no cell: nothing runs */
    TIER_LANDLOCK, /* locked processes, without namespaces and mounts; file tools only */
    TIER_FULL,
};

/* What keeps something. */
enum means {
    MEANS_NONE,
    MEANS_MOUNTS,    /* a root of its own, with the session's folders in it */
    MEANS_COVERS,    /* mounts over the files */
    MEANS_NAMESPACE, /* a namespace of its own */
    MEANS_LANDLOCK,
    MEANS_SECCOMP, /* a filter that lacks the system calls for it */
    MEANS_CGROUP2,
    MEANS_CGROUP1,
    MEANS_WATCHED, /* a look ten times a second, and limits of single processes */
};

struct tier {
    enum tier_id id;
    enum means files;     /* which files there are */
    enum means guards;    /* protected and secret files, against commands */
    enum means network;   /* the machine's */
    enum means processes; /* those of others */
    int landlock;         /* version of the kernel's interface; 0: none */
    bool seccomp;
    /* Limits of commands. MEANS_NONE: nothing holds it, or nobody has looked yet. */
    enum means memory;
    enum means process_count;
    enum means cpu;
};

const char *tier_name(enum tier_id id);
const char *means_name(enum means means);
/* Its fields, into an object that is open. */
void tier_write(const struct tier *tier, struct json_out *j);

#endif
