/* A note of every write under way, kept in the state folder, so that the temporary file of a write
 * that was cut off can be found and removed later, by this gate or the next.
 *
 * Two files for each folder and gate, `<state>/sweep/<device>-<inode>-<tag>` and the same with a `+` and a number,
 * locked while their gate lives, one JSON string a line. An array with a string names the processes of the cell that writes
 * what follows: it may outlive its gate for a moment. When one is long, notes go to the other until
 * nothing that the first one names is under way any more: it is emptied then. */
#ifndef SANDGATE_SESSION_SWEEP_H
#define SANDGATE_SESSION_SWEEP_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/process_group.h"

#define SWEEP_FILES 2

struct sweep_file {
    int fd;          /* -1 until the first note */
    unsigned number; /* at the end of its name */
    unsigned under_way;
    uint64_t bytes;
    bool named; /* the group stands in it */
    bool torn;  /* its last line is not whole */
};

struct sweep {
    int state_fd; /* borrowed */
    char name[80];
    struct sweep_file files[SWEEP_FILES];
    int current;
    char group[PROCESS_GROUP_TEXT]; /* "": not known */
};

void sweep_init(struct sweep *s, int state_fd, uint64_t device, uint64_t inode, const char *tag);
/* The cell that writes from now on: the group of its processes, as process_group_write has it. */
void sweep_set_group(struct sweep *s, const char group[PROCESS_GROUP_TEXT]);
/* Removes the note files; nothing is under way any more. */
void sweep_done(struct sweep *s);
/* Returns the file's number, for sweep_forget. */
int sweep_note(struct sweep *s, struct str path, struct err *err);
void sweep_forget(struct sweep *s, int file);

/* Hands over what dead gates left for this folder; their files are removed. True: one was passed over, whose gate or cell
 * lives, or that could not be read: it is to be looked at again. */
typedef void (*sweep_found_fn)(void *arg, struct str path, const char *tag);
bool sweep_collect(int state_fd, uint64_t device, uint64_t inode, sweep_found_fn found, void *arg);

#endif
