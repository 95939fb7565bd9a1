/* Carries out a plan's steps with the kernel. Runs in the launcher, with the user namespace's
 * capabilities. */
#ifndef SANDGATE_CELL_MOUNTS_H
#define SANDGATE_CELL_MOUNTS_H

#include "cell/plan.h"

/* Trees that were taken before (by a machine's root, who must give up his rights first); -1: to be taken
 * here. */
struct trees {
    int root[ROOTS_MAX];
    int shown[SHOWN_MAX];
    int layer;
    int file[SPEC_FILES_MAX];
};

/* To be taken here, all of them. */
void trees_init(struct trees *ret);

/* Which folder an overlay lies over, as mountinfo tells it. NULL: there is no overlay. */
struct overlay_base {
    char *device;
    char *root;
};

/* A plan that is being carried out. */
struct mounting {
    const struct plan *plan;
    const struct cell_spec *spec;
    struct trees *trees;
    int *slots;
    size_t next;
    struct overlay_base base; /* under the overlay, where there is one */
};

void mounting_init(struct mounting *m, const struct plan *plan, const struct cell_spec *spec,
                   struct trees *trees);
/* Goes on after STEP_WORKER, or to it, or to the end. */
int mounting_continue(struct mounting *m, struct err *err);
/* Closes what the steps have opened. */
void mounting_done(struct mounting *m);

/* Takes a detached copy of the tree at path with nosuid, nodev and, where asked, read-only.
 * userns_fd >= 0 also maps its owners through that namespace. */
int mounts_take_tree(const char *path, bool readonly, int userns_fd, int *ret_tree,
                     struct err *err);

/* The same for what lies at `in` seen from the descriptor `at`, or for that itself where `in` is ""; `path` names it
 * in errors. */
int mounts_copy(int at, const char *in, const char *path, bool readonly, int *ret_tree,
                struct err *err);

/* An empty file system at a folder, that holds no more than `bytes`; `mode` in octal. */
int mounts_scratch(const char *at, uint64_t bytes, const char *mode, struct err *err);
/* The same over a folder that holds `kept`, which stay where they are: at most ROOTS_MAX + SHOWN_MAX. Nobody can move the
 * folders on the way to them. `old`: in the place of one that was made so. Nothing that is needed is mounted at
 * MOUNTS_STAGE. */
#define MOUNTS_STAGE "/proc"
struct mounts_kept {
    const char *path[ROOTS_MAX + SHOWN_MAX];
    size_t n;
    /* Links to make in it. */
    struct {
        const char *name;
        const char *to;
    } links[ROOTS_MAX * ROOT_ALSO];
    size_t n_links;
};
/* What lies in another one, or is one that came before. */
bool mounts_is_within_another(const struct mounts_kept *kept, size_t which);
int mounts_scratch_around(const char *at, bool old, uint64_t bytes, const char *mode,
                          const struct mounts_kept *kept, struct err *err);

/* An empty file system at a folder that is read-only there. -1 with errno. */
int mounts_sealed(const char *at, const char *options);
/* A second mount of it, which has no path: the one that commands see is never writable. -1 with errno. */
int mounts_open_writable(const char *at);

/* Refuses a tree that is not the directory the gate meant. */
int mounts_check_identity(int tree, const struct cell_root *root, struct err *err);

void mounts_look_at_system(struct place places[PLACES_MAX], size_t *ret_count);
/* A folder of the host that a tmpfs can be mounted on; NULL when there is none. */
const char *mounts_staging(void);

#endif
