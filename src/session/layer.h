/* The upper layer of an overlay session: a folder of its own, outside of the project, in which the changes lie that
 * nobody has taken over yet.
 *
 *   sessions/ID/layer/upper   the changes, as overlayfs keeps them
 *   sessions/ID/layer/work    the kernel's
 *   sessions/ID/layer/since   when it was mounted last without changes in it, see layer_since
 *   sessions/ID/layer/record  what was in the project where it has changes, see work/layer_marks.h
 *   sessions/ID/layer/journal a commit that was cut off: until it is ended nothing mounts the layer
 *   sessions/ID/cell          the processes of the cell that had it mounted last
 *
 * Two mounts of one upper layer would spoil it. A session has one gate at a time, by its lock; but the lock of a gate that
 * was killed is free before the kernel has ended its cell, so that the next one waits for these processes. */
#ifndef SANDGATE_SESSION_LAYER_H
#define SANDGATE_SESSION_LAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cell/spec.h"

#define LAYER_FOLDER "layer"
#define LAYER_CELL "cell"

/* Makes what is missing of the folder `path`, for the user of the cell, and adds it to the spec. */
int layer_add(const char *path, struct cell_spec *spec, struct err *err);
/* It is mounted, and no call has been done with it yet. While it has no changes, all that is in the project now is what the
 * session will see. */
int layer_note_since(const char *path, struct err *err);
/* Waits until what was changed just now will count as older than a layer that is mounted then: some 20 ms. */
void layer_rest(void);
/* What is changed in the project later than that, in nanoseconds, the session may not have seen. */
int64_t layer_since(const char *path);
/* A commit was cut off: part of the changes may be in the project. */
bool layer_has_journal(const char *path);
#define LAYER_CUT_OFF "commit_cut_off" /* the reason of an error */
/* A cell has it from now on. */
int layer_note_cell(const char *path, pid_t group, struct err *err);
/* Waits for the cell that had it before. SESSION_BUSY: it goes on. `session` is the folder of the session. */
#define LAYER_IN_USE "layer_in_use" /* the reason of an error */
int layer_wait_for_cell(int session, bool patient, struct err *err);

#endif
