/* What lies in quarantine, and how its user gets it back. The worker puts the content of an entry into the workspace's store
 * (STORE/quarantine/ID, work/quarantine.c). Where it came from is in a note of the gate's, STORE.quarantine/ID, which no cell
 * can reach: a worker that was taken over could otherwise choose where `restore` writes. */
#ifndef SANDGATE_SESSION_QUARANTINE_NOTES_H
#define SANDGATE_SESSION_QUARANTINE_NOTES_H

#include "base/attr.h"
#include "base/err.h"

#define QUARANTINE_ID_MAX 13 /* with the NUL; so is the next */
#define QUARANTINE_NAME_MAX 41
/* Behind the name of the store. */
#define QUARANTINE_NOTES ".quarantine"

struct quarantine_note {
    char id[QUARANTINE_NAME_MAX];
    char *
        folder; /* of the session, on the host; NULL: there is no note, since its gate was killed */
    char *path; /* in it; NULL as well, and so is the next */
    char *time;
    /* Of the folder. */
    uint64_t device;
    uint64_t inode;
    uint64_t born_ns; /* 0: not known */
    int content;      /* STORE/quarantine/ID, -1 where it is gone */
    int notes;        /* STORE.quarantine, -1 where there is none */
    int lock;         /* the note itself, or else the content */
};
#define QUARANTINE_NOTE_NONE ((struct quarantine_note){.content = -1, .notes = -1, .lock = -1})

void quarantine_note_done(struct quarantine_note *note);

/* An id that no other entry has. */
void quarantine_make_id(char id[QUARANTINE_ID_MAX]);
struct cell_root;
/* Notes an entry that is in `store` now, and was in the folder `root`. -errno. */
int quarantine_note_write(const char *store, const char *id, const struct cell_root *root,
                          struct str path);

typedef void (*quarantine_note_fn)(void *arg, const struct quarantine_note *note);
/* Of all workspaces. */
int quarantine_note_each(int state_fd, quarantine_note_fn fn, void *arg, struct err *err);
/* Finds an entry and keeps others from restoring or removing it meanwhile. */
int quarantine_note_lock(int state_fd, const char *id, struct quarantine_note *ret,
                         struct err *err);
/* Removes the entry and its note. */
int quarantine_note_remove(struct quarantine_note *note, struct err *err);
/* Puts an entry back to where it was, with its modes and times. Fails where something is there. The entry stays in
 * quarantine until it is removed. */
int quarantine_restore(const struct quarantine_note *note, struct err *err);

#endif
