/* The launcher's part in commands: it has a first process ready for the next one, hands it its order, and keeps what is
 * guarded covered in those that run. */
#ifndef SANDGATE_CELL_RUNNER_H
#define SANDGATE_CELL_RUNNER_H

#include <sys/types.h>

#include "cell/denied.h"
#include "cell/frame.h"
#include "cell/guards.h"
#include "cell/layers.h"
#include "cell/rested.h"

struct first;

struct runner {
    const struct cell_spec *spec;
    struct first *firsts;
    size_t n_firsts;
    struct guards guards;
    struct denied *denied; /* the current list: new commands get it */
    int listening;         /* to mounts that go away */
    int listening_in; /* an epoll: the same in namespaces of commands that have another list of denied programs */
    bool unmounted; /* guards were told that are not mounted yet */
    bool missing;   /* some were not there to be covered: they may be back */
    struct points points;
    uint64_t covers; /* goes up whenever a mount namespace may lack a cover that others have */
    struct rested rested;
    pid_t spare; /* waits for its order; 0: there is none */
    bool spare_locked;
    /* Where the next command is counted. They are kept until one has its order: a spare may have to be made anew. */
    struct frame_fds groups;
    bool has_groups;
    struct layers layers; /* of the command that comes next; none: it writes to no git directory */
    uint64_t layers_of;   /* the token of the command that they are for; 0: there are none */
};

/* -1 with errno. */
int runner_init(struct runner *w, const struct cell_spec *spec);

/* What the gate says, with descriptors that may be taken. -1: the cell cannot go on. */
int runner_take(struct runner *w, const struct frame *frame, struct frame_fds *fds);

/* Something that was covered has been replaced on the host, and the mount went with it, in every command's mount
 * namespace. */
void runner_cover_again(struct runner *w);
/* The same where listening_in has heard it: in the commands' namespaces only. */
void runner_cover_running(struct runner *w);

/* A child has ended, and with it all that was in its pid namespace. -1: the cell cannot go on. */
int runner_bury(struct runner *w, pid_t pid, int status);

#endif
