/* Inside of taking over what a session has changed: shared by its own files only. All is looked at first (layer_commit.c),
 * then what is new is made beside its place (layer_build.c), then put there (layer_put.c), and last the layer is rid of it
 * (layer_prune.c). A journal in the layer's folder says how far that is; layer_recover.c ends what was cut off.
 *
 * Nothing of the project is written to, only renamed: each of its files is the old or the new one at any time. */
#ifndef SANDGATE_WORK_LAYER_COMMIT_H
#define SANDGATE_WORK_LAYER_COMMIT_H

#include "work/layer_node.h"

enum step_kind {
    STEP_NEW,    /* there was nothing: a file, a link, or a folder with all that is in it */
    STEP_SWAP,   /* a file or link in the place of another */
    STEP_UNFOLD, /* a folder in the place of a file or link */
    STEP_FOLD,   /* the other way around */
    STEP_MODE,   /* nothing but its mode */
    STEP_DELETE,
    STEP_DROP, /* the project's stays, the layer's goes */
};

struct commit_step {
    struct op_changed of;
    char *path;
    enum step_kind kind;
    size_t end;       /* the steps from the next one to this lie in it */
    bool within;      /* it comes with a folder around it */
    bool left;        /* it was not taken over */
    struct stat base; /* what was there when it was looked at */
};

/* How far it is: nothing of the project's is changed yet; all is made and being put in place; only the layer is left. */
enum commit_stage { COMMIT_MAKING = 'm', COMMIT_PUTTING = 'p', COMMIT_PUT = 'd' };

struct committing {
    struct work *w;
    int base;  /* the project */
    int layer; /* the folder of the layer */
    int upper;
    int journal;
    char tag[OP_LAYER_TAG_MAX + 1];
    struct buf body; /* what the steps point into */
    struct commit_step *steps;
    size_t n;
    bool many; /* the whole file system is waited for, once, and not each file */
    struct op_layer_commit_reply *reply;
};

#define COMMIT_TEMP_MAX 80

/* The folder that a path lies in, opened beneath `root` through no link and into no mount, and its last name. -errno. */
int commit_parent(int root, const char *path, const char **ret_name);
/* The temporary name of a step, in the same folder. */
void commit_temp_name(const struct committing *c, size_t step, char out[COMMIT_TEMP_MAX]);
int commit_failed(struct err *err, int error, const struct commit_step *step);

/* Takes the packed steps, in their order. */
int commit_take_steps(struct committing *c, struct str body, struct err *err);
void commit_steps_done(struct committing *c);

/* Makes what is new of all steps, on the disk. */
int commit_build(struct committing *c, struct err *err);
/* Waits until what was made, or put in place, is on the disk. 0 or -errno. */
int commit_sync(struct committing *c);
/* Removes what that made. */
void commit_unbuild(struct committing *c);

/* `put` does its part for one step. Whatever the project lost meanwhile, or got, stays: then the step is `left`. */
typedef void (*put_fn)(struct committing *c, size_t step);
void commit_put_all(struct committing *c, put_fn put);
void commit_put(struct committing *c, size_t step);
void commit_put_again(struct committing *c, size_t step);
/* All was put: which steps were left by that is not written down. */
void commit_look_again(struct committing *c, size_t step);

/* The journal. */
int commit_journal_begin(struct committing *c, struct err *err);
int commit_journal_stage(struct committing *c, enum commit_stage stage, struct err *err);
/* 0: there is none. 1: it is open, and the steps are taken. */
int commit_journal_read(struct committing *c, enum commit_stage *ret, struct err *err);
void commit_journal_end(struct committing *c);

/* Rids the layer of what was taken over or given up, and of what is the same as in the project. */
void commit_prune(struct committing *c);
/* Removes what was to go with it and is still there. */
void commit_empty_trash(struct committing *c);

#endif
