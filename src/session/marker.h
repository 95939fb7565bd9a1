/* A marker says that a command runs whose work nobody has judged yet. It holds links to the index of each root as it was
 * before that command (`guards-N`, work/guard_index.h), so that whoever finds the marker of a gate that is dead can tell
 * what was made since.
 *
 * All are files in `<store>.running/`, which no cell can reach: TAG is the marker, locked while its gate lives, TAG.N an
 * index. The marker's first byte says whether it is set; while its gate rests it is not. Behind it stand the group of the
 * cell's processes and the id of the machine's start. */
#ifndef SANDGATE_SESSION_MARKER_H
#define SANDGATE_SESSION_MARKER_H

#include <sys/types.h>

#include "base/buf.h"
#include "core/path.h"

#define MARKER_TAG_MAX 31

struct marker {
    char *store; /* the folder with the indexes */
    int folder;  /* -1: not opened yet */
    int fd;      /* locked; -1: there is none */
    bool recent; /* a command that it stands for may have run since the machine was started */
    char tag[MARKER_TAG_MAX + 1];
    char damaged[MARKER_TAG_MAX + 1]; /* one that cannot be read; "": there is none */
    unsigned made;                    /* how often one was made: each has another name */
};

/* `store` NULL: there will be no marker. */
void marker_init(struct marker *marker, const char *store);
/* The files stay. */
void marker_done(struct marker *marker);

/* Makes and sets it, with the indexes as they are now. `group` is that of the cell's processes. -errno. */
int marker_set(struct marker *marker, const char *tag, const bool roots[ROOTS_MAX], pid_t group);
/* With the same indexes. -errno. */
int marker_set_again(const struct marker *marker);
/* It stays set, with its time and its indexes, and now stands for a command of another cell, too. */
void marker_set_group(struct marker *marker, pid_t group);
/* Everything was judged. */
void marker_rest(const struct marker *marker);
/* The same, and removes its files. */
void marker_remove(struct marker *marker);
/* The same, and keeps nothing open. */
void marker_give_back(struct marker *marker);
/* Takes over the oldest set marker of the gates that are dead and removes their others: the oldest index tells of all that
 * was made since. `needed`: one's own is kept if it is older than those. 1: another one was taken over, 0, or -errno:
 * there may be one that cannot be read, so it is not known what is to be judged.
 * One whose cell has living processes is left as it is, and *ret_dying becomes true: the caller has to look again later.
 * `ret_dying` NULL: it is taken all the same. */
int marker_take_over(struct marker *marker, bool needed, bool *ret_dying);
/* Whether a command of another gate may run: its marker is set. */
bool marker_others_run(struct marker *marker);

/* When it was set, as files are dated. */
int64_t marker_time_ns(const struct marker *marker);
/* Nothing that was made from then on is the work of a command that it stands for: the machine was started anew. 0: that is
 * not known. The clock is taken to be right. */
int64_t marker_until_ns(const struct marker *marker);
/* -1: there is none that could be read. */
int marker_open_index(const struct marker *marker, size_t root);

#endif
