/* Locks on folders. Whoever reads a file in order to replace it holds the lock of its folder from reading to renaming,
 * and whoever renames or removes something in a folder holds it for that moment: so no change is lost between calls of
 * one worker, nor between gates that work in the same folder.
 *
 * Inside a worker it is a mutex. Between workers it is flock(2) on the folder, which is released by the kernel when its
 * holder dies. A file system without flock on folders, or a folder that cannot be opened for reading, has the first
 * kind only. */
#ifndef SANDGATE_WORK_FOLDER_LOCK_H
#define SANDGATE_WORK_FOLDER_LOCK_H

#include <pthread.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

struct work;

#define FOLDER_LOCK_MAX 2

struct folder_lock {
    pthread_mutex_t *mutex[FOLDER_LOCK_MAX]; /* NULL: not held */
    int fd[FOLDER_LOCK_MAX];                 /* -1: none */
    dev_t device[FOLDER_LOCK_MAX];
    ino_t inode[FOLDER_LOCK_MAX];
};
#define FOLDER_LOCK_NONE ((struct folder_lock){.fd = {-1, -1}})

/* Locks the folder that is open as `dir`; `path` is what is told of. Waits until the call is cancelled, or until
 * somebody else has kept the lock for seconds without a change in the folder: CONFLICT then. `ret` holds none before. */
int folder_lock_take(struct work *w, int dir, const char *path, struct folder_lock *ret,
                     struct err *err);
/* The same for two, which may be the same one. */
int folder_lock_take_two(struct work *w, int dir, int other, const char *path,
                         struct folder_lock *ret, struct err *err);
/* Whether it is this folder's lock. */
bool folder_lock_holds(const struct folder_lock *lock, int dir);
void folder_lock_done(struct folder_lock *lock);
#define FOLDER_LOCK_AT_END CLEANUP(folder_lock_done)

#endif
