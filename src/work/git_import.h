/* Inside of the import of what a command wrote to git directories: shared by its own files only. First all layers are
 * read and a list of changes is made of each (git_plan.c); then objects are copied (git_objects.c); then the rest is put
 * in place under git's own locks (git_commit.c). */
#ifndef SANDGATE_WORK_GIT_IMPORT_H
#define SANDGATE_WORK_GIT_IMPORT_H

#include "work/git_base.h"
#include "work/git_names.h"
#include "work/work.h"

#define GIT_NOTE_FILE "locks"

/* One file that is to be written or removed. */
struct git_change {
    char *path; /* in the git directory */
    enum git_kind kind;
    bool remove;
    bool shallow; /* where history ends */
    mode_t mode;
    struct buf content; /* of a file that is to be written; not of objects, which are copied */
    size_t group;
    size_t inner; /* where in `path` that in its repository begins */
    /* Once it is written beside its place. */
    char temp[64];
    bool made;   /* under that name */
    bool locked; /* under its own name and `.lock` */
    uint64_t inode;
};

struct git_layer {
    struct op_layer of;
    char *path; /* of the git directory in its root */
    int git;    /* the real one */
    int upper;
    unsigned hex;
    struct git_base base;
    struct git_change *changes;
    size_t n;
    bool refused; /* nothing of it is taken over */
    char **left;  /* folders of which nothing is, see git_name.group */
    size_t n_left;
};

struct git_import {
    struct work *w;
    const struct op_git_import_request *q;
    struct op_git_import_reply *reply;
    int folder; /* of all layers of this command */
    struct git_layer layers[OP_LAYERS_MAX];
    size_t n_layers;
    int64_t entries;
    int64_t bytes;
    size_t kept; /* bytes in memory */
    unsigned temps;
    int turn; /* which changes are put in place now, see git_commit.c */
};

/* Fills in the layer's changes; what is not taken over is noted in the reply. */
int git_plan(struct git_import *im, struct git_layer *layer, struct err *err);
/* Notes a name that is not taken over; with `cause` nothing else of its layer is. */
void git_drop(struct git_import *im, struct git_layer *layer, const char *path, bool cause);

/* Fails where the git directory is not the one that the command began with. */
int git_layer_check(struct git_import *im, const struct git_layer *layer, struct err *err);

/* Drops refs that lead back to themselves, or on for too long. */
void git_drop_loops(struct git_import *im, struct git_layer *layer);

/* Copies the objects among the changes, each to its place. */
int git_objects_take(struct git_import *im, struct git_layer *layer, struct err *err);

/* Puts all the other changes of all layers in place, or none of them. */
int git_commit(struct git_import *im, struct err *err);
/* Removes locks that a worker left behind in the middle of that. */
void git_commit_undo(struct work *w, int folder);

/* A name for a file beside its place. */
void git_temp_name(struct git_import *im, char out[64]);
/* Makes, fills and closes it; *ret_inode may be NULL. 0 or -errno. */
int git_temp_write(const struct git_import *im, int git, const char *name, struct str content,
                   mode_t mode, uint64_t *ret_inode);

#endif
