/* Rules about files, kept for commands, which ask nobody: what is protected is mounted read-only over itself,
 * what is secret is covered, and so are sockets that someone outside may listen on. Which files these are was
 * found by the worker (OP_SCAN). */
#ifndef SANDGATE_CELL_GUARDS_H
#define SANDGATE_CELL_GUARDS_H

#include "base/buf.h"
#include "cell/spec.h"
#include "cell/violations.h"

/* Most that are watched for, because they were not there. */
#define GUARDS_WATCHED_MAX 64

struct guards {
    struct buf found[ROOTS_MAX]; /* of each root: packed, see op_guarded_next */
};

void guards_init(struct guards *guards);
/* Takes a copy of what was found in a root. 0, or -1 when it is not well formed. */
int guards_set(struct guards *guards, size_t root, struct str found);

/* In a command's own mount namespace, before it is locked: covers what is not covered yet. To be called when the
 * namespace is made, and again before the command starts: what a mount covered may have been replaced on the host,
 * and then the mount is gone. */
int guards_mount(const struct cell_spec *spec, const struct guards *guards, struct err *err);

/* Those that were not there before the command started. */
struct guards_watch {
    struct {
        uint32_t root;
        struct str path;
    } absent[GUARDS_WATCHED_MAX];
    size_t n;
};
void guards_look_before(const struct cell_spec *spec, const struct guards *guards,
                        struct guards_watch *ret);
/* Counts those that are there now as `created:PATH`. */
void guards_look_after(const struct cell_spec *spec, const struct guards_watch *watch,
                       struct violations *violations);

#endif
