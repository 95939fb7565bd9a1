/* What runs inside a cell, behind its locks: the operations of core/op.h on open folders. */
#ifndef SANDGATE_WORK_WORK_H
#define SANDGATE_WORK_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/hash.h"
#include "cell/frame.h"
#include "cell/shelf.h"
#include "cell/spec.h"
#include "core/op.h"
#include "work/beneath.h"

/* A full one is sent as it is: the largest body of a frame. */
#define WORK_CHUNK FRAME_BODY_MAX

struct folder_lock;
struct subtree;

/* The paths of a call: a move has both. */
enum work_end { WORK_PATH, WORK_TO, WORK_ENDS };

/* The gate bounds what it asks for; this is only so that no mistake can grow without end. */

/* One thread's own things, reused from call to call. */
struct work {
    const struct beneath_root *roots;
    size_t n_roots;
    atomic_bool *cancelled; /* the gate asks this call to stop */
    char *chunk;            /* WORK_CHUNK bytes to read into */
    struct buf body;        /* the reply's body */
    char sha256[HASH_HEX + 1];
    char sha256_before[HASH_HEX + 1];
    struct replies *replies;
    struct worker *worker;
    struct guard_trees *trees; /* what is known of the roots since the last scan */
    uint64_t token;            /* of the call at hand */
    int64_t limit;             /* bytes its reply may have */
    bool slow;                 /* another thread was asked to take the next call */
    uint32_t gate;             /* the processor it runs on */
    struct beneath_root at;    /* what work_root hands out */
    struct guard *guard;       /* the rules of the call at hand */
    char *shelf;   /* memory that the gate reads from, while this call has it; NULL: it has not */
    bool shelved;  /* something lies there for the gate */
    bool as_named; /* what it opens has to be what its paths name */
    struct buf real[WORK_ENDS];   /* base64 of where its paths lead; empty: not known yet */
    bool elsewhere[WORK_ENDS];    /* that is not where they say */
    struct str pinned[WORK_ENDS]; /* what `real` has to be; p is NULL: anything */
    bool
        gave_up; /* it was cancelled while it waited for a scan: what the rules said since is not known */
};

typedef int (*op_fn)(struct work *w, const union op_request *request, struct str body,
                     union op_reply *reply, struct err *err);
extern const op_fn work_ops[OP_COUNT];

int work_read(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_write(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err);
int work_list(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_search(struct work *w, const union op_request *request, struct str body,
                union op_reply *reply, struct err *err);
int work_stat(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_edit(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_frontmatter(struct work *w, const union op_request *request, struct str body,
                     union op_reply *reply, struct err *err);
int work_delete(struct work *w, const union op_request *request, struct str body,
                union op_reply *reply, struct err *err);
int work_move(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_mkdir(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err);
int work_sweep(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err);
int work_scan(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err);
int work_leads(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err);
int work_preview(struct work *w, const union op_request *request, struct str body,
                 union op_reply *reply, struct err *err);
int work_quarantine(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err);
int work_rules(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err);
int work_git_begin(struct work *w, const union op_request *request, struct str body,
                   union op_reply *reply, struct err *err);
int work_git_import(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err);

int work_layer_list(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err);
int work_layer_commit(struct work *w, const union op_request *request, struct str body,
                      union op_reply *reply, struct err *err);
int work_layer_diff(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err);

/* The rules for all calls that are taken up from now on. */
void work_use_guard(struct work *w, struct guard *guard);
/* Gives back what its calls left in it. */
void work_done(struct work *w);
/* For a call whose frame has this head. */
void work_begin(struct work *w, uint64_t token, yyjson_val *head);
/* To be called by an operation that is going to take more than a moment. */
void work_slow(struct work *w);
/* Replaces an error that only says what follows from it: the folder that the call works in was removed. */
void work_name_lost_root(const struct work *w, struct err *err);
/* Around waiting for the lock of a folder: other calls go on meanwhile. Fails where no thread can be had for that. */
int work_begin_waiting(struct work *w, struct err *err);
void work_end_waiting(struct work *w);
/* Sends a part of the reply's body before the rest is known. 0 or -errno. */
int work_send_piece(struct work *w, struct str bytes);
/* Has w->shelf for this call (SHELF_BYTES), if no other has it. What lies there is sent by its place. */
void work_take_shelf(struct work *w);
int work_send_shelved(struct work *w, struct str bytes);
/* What the specification says of the folders that are open as `fds`. */
void work_take_roots(const struct cell_spec *spec, const int *fds, struct beneath_root *ret);
/* The root a request names, until the next one is asked for; NULL with an error. */
const struct beneath_root *work_root(struct work *w, int64_t root, bool no_links, struct err *err);
/* The same, to be written in. */
const struct beneath_root *work_writable_root(struct work *w, int64_t root, bool no_links,
                                              const char *path, struct err *err);
/* Notes where a path of the call leads. -1 with CONFLICT: not to where it led when someone was asked about the call. */
int work_note_real(struct work *w, enum work_end end, const char *path, const char *real,
                   struct err *err);
/* Puts that into a reply: of a preview always, else where it is not what the path says. */
void work_tell_real(const struct work *w, const struct op *op, union op_reply *reply);
enum file_type work_file_type(mode_t mode);
/* Writes a file as OP_WRITE does; w->sha256 is what it then has. `held` is the lock of its folder where the caller has
 * that already (work/folder_lock.h), or NULL. */
int work_replace(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
                 struct str content, const struct folder_lock *held, struct op_write_reply *reply,
                 struct err *err);
/* Whether that would be done: *ret_fd is the file that is there now, open for reading; -1: none is. `bytes` is the
 * length of the content. */
int work_look(struct work *w, const struct beneath_root *root, const struct op_write_request *q,
              size_t bytes, int *ret_fd, struct stat *ret_stat, struct err *err);
/* The file's hash is `now`, which is not the one that was expected; NULL: there is no file. */
int work_not_expected(struct err *err, const char *path, const char *now);

/* What an operation makes of a file, before it is written. */
struct work_change {
    const struct beneath_root *root;
    struct buf before; /* its hash is w->sha256_before */
    struct buf after;
    bool same;
};
/* `ret` is to be given to work_change_done either way. */
int work_change(struct work *w, const struct op_change_request *q, bool frontmatter,
                struct str what, struct work_change *ret, struct err *err);
void work_change_done(struct work_change *change);
/* Adds the unified diff to the reply, no more than `max` bytes of it. True: it is cut. */
bool work_diff(struct work *w, struct str before, struct str after, const char *path, size_t max);
/* The place of what is to be deleted, and what it is. place->dir is open on success. */
int work_entry_to_delete(struct work *w, const struct op_delete_request *q,
                         struct beneath_place *place, struct beneath_real *ret_real,
                         struct stat *ret_stat, struct err *err);
/* The entry and all that is in it, by descriptors, no link followed. *count goes up with each that is
 * removed. 0 or -errno; -EBUSY: `rules` keep an entry. They may be NULL, else their path is that of the entry. */
int work_remove_tree(struct work *w, int dir, const char *name, struct subtree *rules,
                     int64_t *count);
/* A command can move what is the user's into a folder of its making. A time of birth cannot be set; where there is none,
 * anything may be older. */
bool work_is_older(const struct statx *st, int64_t since_ns);
/* The same of what was born since then (0: of any age), whatever its mode; -ESTALE at the first that is older, which stays
 * with all that is around it. */
int work_remove_tree_since(struct work *w, int dir, const char *name, int64_t since_ns,
                           int64_t *count);
/* Whether a move would be done, or a folder be made, as far as can be told: where it leads to and what is there. */
int work_look_move(struct work *w, const struct op_move_request *q, struct op_preview_reply *reply,
                   struct err *err);
int work_look_mkdir(struct work *w, const struct op_mkdir_request *q,
                    struct op_preview_reply *reply, struct err *err);
/* A folder that is removed, or moved, with all that is in it. */
struct tree_op {
    const struct beneath_root *root;
    const char *path; /* as it was given */
    const char *real; /* without links */
    const struct beneath_root *to_root;
    const char *to; /* without links; NULL: it is removed */
};
/* Refuses one that holds what the rules guard, or, to be removed, something that is mounted. */
int work_check_tree(struct work *w, const struct beneath_place *place, const struct tree_op *op,
                    struct err *err);
/* CONFLICT, for what is something else than it was a moment ago: the same call may succeed now. */
int work_replaced(struct err *err, const char *path);
int work_replaced_folder(struct err *err, const char *path);
/* -1 with CANCELLED once the gate asked to stop; long loops call it. */
int work_check_cancel(const struct work *w, struct err *err);
/* Waits for a mutex whose holder is another call of this worker; -1 with CANCELLED. */
int work_take_mutex(struct work *w, pthread_mutex_t *mutex, struct err *err);
/* What an operation that gave up is answered with, in place of its own result `r`. */
int work_result(const struct work *w, const struct op *op, int r, struct err *err);

#endif
