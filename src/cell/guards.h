/* Rules about files, kept for commands, which ask nobody: what is protected is mounted read-only over itself,
 * what is secret is covered, and so are sockets that someone outside may listen on. Which files these are was
 * found by the worker (OP_SCAN). */
#ifndef SANDGATE_CELL_GUARDS_H
#define SANDGATE_CELL_GUARDS_H

#include <time.h>

#include "base/buf.h"
#include "cell/spec.h"
#include "cell/violations.h"
#include "core/op.h"

/* Most that are watched for, because they were not there. */
#define GUARDS_WATCHED_MAX 64

struct guards {
    struct buf found[ROOTS_MAX]; /* of each root: packed, see op_guarded_next */
    bool known[ROOTS_MAX];
};

void guards_init(struct guards *guards);
/* Takes a copy of what was found in a root. 0, or -1 when it is not well formed. */
int guards_set(struct guards *guards, size_t root, struct str found);

/* What a command's first process knows of them: which are missing, and the folders where one of these would
 * appear, as they were when that was looked up. */
struct guards_view {
    struct {
        uint32_t root;
        struct str path;
    } missing[GUARDS_WATCHED_MAX];
    size_t n_missing;
    struct {
        uint32_t root;
        struct str path;
        struct timespec changed;
    } folders[GUARDS_WATCHED_MAX];
    size_t n_folders;
    bool too_many; /* folders */
    struct timespec looked;
};

/* Whether it is known of all folders that commands have. */
bool guards_complete(const struct guards *guards, const struct cell_spec *spec);

/* In a mount namespace that a command has or begins with: covers what was found, and what was missing then and is
 * there now. */
int guards_mount(const struct cell_spec *spec, const struct guards *guards, struct guards_view *ret,
                 struct err *err);
/* One that lies in a git directory over which a layer was just mounted, so that it is not covered any more. What is
 * protected there may be written, since that goes to the layer. */
int guards_cover_in_layer(int root, const struct op_guarded *entry, struct err *err);
/* Before the command starts, which may be much later: whether all that should be is still covered. What a mount
 * covered may have been replaced on the host, and then the mount is gone; what was missing may be there. Quick where
 * nothing has changed. */
bool guards_hold(const struct cell_spec *spec, const struct guards *guards,
                 struct guards_view *view);
/* When it has ended: counts those that it made as `created:PATH`. */
void guards_look_after(const struct cell_spec *spec, struct guards_view *view,
                       struct violations *violations);

#endif
