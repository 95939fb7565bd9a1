/* Rules about files, kept for commands, which ask nobody: what is protected is mounted read-only over itself,
 * what is secret is covered, and so are sockets that someone outside may listen on. Which files these are was
 * found by the worker (OP_SCAN). */
#ifndef SANDGATE_CELL_GUARDS_H
#define SANDGATE_CELL_GUARDS_H

#include "base/buf.h"
#include "cell/spec.h"
#include "core/op.h"

struct guards {
    struct buf found[ROOTS_MAX]; /* of each root: packed, see op_guarded_next */
    bool known[ROOTS_MAX];
    uint32_t *added[ROOTS_MAX]; /* of each entry: the list it appeared in */
    uint32_t lists;             /* that were taken so far */
    size_t count[ROOTS_MAX];    /* of entries */
};

void guards_init(struct guards *guards);
void guards_done(struct guards *guards);
/* Takes a copy of what was found in a root. 1: it is what was known already; 0; -1 when it is not well formed. */
int guards_set(struct guards *guards, size_t root, struct str found);
/* The same from a FRAME_GUARDS: a long list comes as a sealed file. */
struct frame;
int guards_take(struct guards *guards, const struct frame *frame, int fd);

/* Whether it is known of all folders that commands have. */
bool guards_complete(const struct guards *guards, const struct cell_spec *spec);

size_t guards_count(const struct guards *guards);

/* In a mount namespace that a command begins with: covers what is not covered. 0; 1: some of them are not there, or
 * another file is; -1. */
int guards_mount(const struct cell_spec *spec, struct guards *guards, struct err *err);

/* A command that runs. */
struct denied;
struct guards_running {
    pid_t pid;
    int mounts;     /* its mount namespace */
    uint32_t lists; /* guards.lists when it started */
    bool layered;   /* its git directories are layers */
};
/* The same, for denied programs too, in its mount namespace, by a child of this process that nobody has to wait for.
 * `denied` is the list that the command began with. What would be protected and appeared since it started is left
 * alone: it may be making a repository just now. Where it fails, the command is killed. */
int guards_mount_in(const struct cell_spec *spec, const struct guards *guards,
                    struct denied *denied, const struct guards_running *running);

/* One that lies in a git directory over which a layer was just mounted, so that it is not covered any more. What is
 * protected there may be written, since that goes to the layer. */
int guards_cover_in_layer(int root, const struct op_guarded *entry, struct err *err);

/* Hears of mounts that go away in this process's mount namespace: somebody on the host has replaced what they covered.
 * -1 with errno. */
int guards_listen(void);
/* The same in the mount namespace of a child. */
int guards_listen_in(pid_t pid);
/* Whether any mount came or went since this was last asked. */
bool guards_heard(int listening);

#endif
