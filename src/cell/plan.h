/* A cell's mounts as a list of steps. Making the list is pure and is tested as text; carrying it out
 * is cell/mounts.c.
 *
 * Where later kinds of step belong: a listening socket is made after PIVOT, while the launcher still has its
 * capabilities. What each command has of its own (/proc, /tmp, …) is mounted by its first process, cell/command.c. */
#ifndef SANDGATE_CELL_PLAN_H
#define SANDGATE_CELL_PLAN_H

#include "base/buf.h"
#include "cell/spec.h"

enum step_kind {
    STEP_PRIVATE, /* no mount made here reaches the host, nor the other way */
    STEP_CLONE,   /* takes a copy of the tree at `from` into slot `slot` */
    STEP_TMPFS,   /* an empty file system at `to`, which becomes the working directory */
    STEP_MKDIR,   /* all parents too */
    STEP_SYMLINK, /* at `to`, saying `from` */
    STEP_FILE,    /* an empty one that nobody may read; devices are attached to such */
    STEP_CLOSED,  /* an empty folder that nobody may read */
    STEP_TEXT,    /* a file at `to` that says `from` */
    STEP_SCRATCH, /* an empty file system of `bytes` at `to`, for the cell's user alone */
    STEP_ATTACH,  /* slot `slot` at `to` */
    STEP_PIN,     /* the folder at `to`, laid over itself */
    STEP_PROC,    /* a /proc of this cell's processes into slot `slot` */
    STEP_PIVOT,   /* the tmpfs becomes the root and the host's tree is gone */
    STEP_SEAL,    /* the new root is read-only */
    STEP_WORKER,  /* the worker begins; it does not see what follows */
    STEP_KEEP, /* takes a copy of the folder at `from` in the new root into slot `slot`, as it is */
    STEP_LEAVE,   /* the mount at `to` goes, if there is one */
    STEP_OVERLAY, /* an overlay of slot `slot` at `to`, whose layer is slot `layer` */
    STEP_COVER,   /* the file `from` of the new root, laid over the one at `to` if there is one */
};

struct step {
    enum step_kind kind;
    int slot;
    int root;  /* STEP_CLONE: index of the spec's root, or -1 */
    int shown; /* STEP_CLONE: index of the spec's shown folder, or -1 */
    int file;  /* STEP_CLONE: index of the spec's file, or -1 */
    int layer; /* STEP_CLONE: 0 where it is the spec's layer; STEP_OVERLAY: its slot; or -1 */
    bool readonly;
    bool device; /* STEP_CLONE: one device, which may be used */
    uint64_t bytes;
    char *from; /* NULL: none */
    char *to;
};

struct plan {
    struct step *steps;
    size_t count;
    int slots;
};

/* What the machine has at the places a read-only system is made of. */
enum place_kind { PLACE_ABSENT, PLACE_FOLDER, PLACE_LINK };
struct place {
    const char *path;
    enum place_kind kind;
    char target[256]; /* PLACE_LINK */
};
#define PLACES_MAX 12
/* The home of commands. */
#define PLAN_HOME "/home/agent"
/* Who commands are, in the place of the machine's own lists of users and groups. */
#define PLAN_USER "agent"
#define PLAN_PASSWD "/var/passwd"
#define PLAN_GROUP "/var/group"
/* In the place of the machine's own configuration of git, which it includes. */
#define PLAN_GITCONFIG "/var/gitconfig"
/* What covers secrets: nobody may read them. */
#define PLAN_HIDDEN "/var/hidden"
#define PLAN_HIDDEN_FILE PLAN_HIDDEN "/file"
#define PLAN_HIDDEN_FOLDER PLAN_HIDDEN "/folder"
/* Stubs for denied programs are mounted there (cell/denied.h). */
#define PLAN_DENIED "/var/denied"
/* Where the folders of commands are mounted (cell/points.h). */
#define PLAN_POINTS "/var/points"
extern const char *const plan_system_paths[];

/* `places` is what commands see of the machine. `staging` is an existing folder of the host
 * that the tmpfs is mounted on. */
void plan_make(const struct cell_spec *spec, const struct place *places, size_t n_places,
               const char *staging, struct plan *ret);
void plan_done(struct plan *plan);
/* One line a step. */
void plan_print(const struct plan *plan, struct buf *out);

#endif
