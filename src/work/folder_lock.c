#include "work/folder_lock.h"

#include <errno.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "work/work.h"

/* Folders that share one only wait for each other. */
#define MUTEXES 64
#define PATIENCE_NS 5000000000u
#define PAUSE_NS 200000
#define SOON_NS 2000000
#define LOOK_NS 20000000

static pthread_mutex_t mutexes[MUTEXES];
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void init_lock_mutexes(void)
{
    for (size_t i = 0; i < MUTEXES; i++)
        pthread_mutex_init(&mutexes[i], NULL);
}

static size_t mutex_of(dev_t device, ino_t inode)
{
    uint64_t key = (uint64_t)device * 0x9e3779b97f4a7c15u ^ (uint64_t)inode;
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) % MUTEXES;
}

static void end_waiting(struct work **waiting)
{
    if (*waiting)
        work_end_waiting(*waiting);
}

/* ThreadSanitizer's runtime does not know pthread_mutex_clocklock, and would take the mutex for one that nobody holds. */
static int lock_within(pthread_mutex_t *mutex, int64_t ns)
{
#ifdef __SANITIZE_THREAD__
    const clockid_t clock = CLOCK_REALTIME;
#else
    const clockid_t clock = CLOCK_MONOTONIC;
#endif
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
#ifdef __SANITIZE_THREAD__
    return pthread_mutex_timedlock(mutex, &until);
#else
    return pthread_mutex_clocklock(mutex, clock, &until);
#endif
}

int work_take_mutex(struct work *w, pthread_mutex_t *mutex, struct err *err)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    if (work_begin_waiting(w, err) < 0)
        return -1;
    CLEANUP(end_waiting) struct work *waiting = w;
    for (int64_t wait = SOON_NS;; wait = LOOK_NS) {
        if (lock_within(mutex, wait) == 0)
            return 0;
        if (work_check_cancel(w, err) < 0)
            return -1;
        work_slow(w);
    }
}

static bool has_changed(int fd, struct timespec *known)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    bool changed = st.st_mtim.tv_sec != known->tv_sec || st.st_mtim.tv_nsec != known->tv_nsec;
    *known = st.st_mtim;
    return changed;
}

/* Looks again and again, because a thread that sleeps in the kernel could not be cancelled. Where others work in the
 * folder it changes, and the turn comes; a lock that is only held is given up on. */
static int take_flock(struct work *w, int fd, const char *path, struct err *err)
{
    struct timespec changed = {0};
    uint64_t start = clock_mono_ns();
    uint64_t quiet = start;
    CLEANUP(end_waiting) struct work *waiting = NULL;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return 0; /* not on this file system */
        if (work_check_cancel(w, err) < 0)
            return -1;
        if (!waiting && work_begin_waiting(w, err) < 0)
            return -1;
        waiting = w;
        uint64_t now = clock_mono_ns();
        if (now - start > SOON_NS)
            work_slow(w);
        if (has_changed(fd, &changed))
            quiet = now;
        if (now - quiet > PATIENCE_NS) {
            err_set(err, ERR_CONFLICT,
                    "another program holds a lock (flock) on the folder of `%.200s`; nothing was "
                    "changed, try again",
                    path);
            return err_reason(err, "locked");
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}

static int open_folder_to_lock(int dir, const char *path, int *ret_fd, struct err *err)
{
    *ret_fd = beneath_reopen_dir(dir);
    /* One that cannot be read can be written in all the same. */
    return *ret_fd < 0 && errno != EACCES && errno != EPERM ? beneath_errno(err, errno, path) : 0;
}

static int lock_all(struct work *w, const int *dirs, size_t n, const char *path,
                    struct folder_lock *ret, struct err *err)
{
    size_t slot[FOLDER_LOCK_MAX];
    pthread_once(&begun, init_lock_mutexes);
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        if (fstat(dirs[i], &st) < 0)
            return beneath_errno(err, errno, path);
        ret->device[i] = st.st_dev;
        ret->inode[i] = st.st_ino;
        slot[i] = mutex_of(st.st_dev, st.st_ino);
    }
    /* All in one order, here and between workers, so that no two wait for each other. */
    size_t low = n == 2 && slot[1] < slot[0];
    for (size_t i = 0; i < n; i++) {
        size_t at = i ^ low;
        if (i == 1 && slot[0] == slot[1])
            break;
        if (work_take_mutex(w, &mutexes[slot[at]], err) < 0)
            return -1;
        ret->mutex[at] = &mutexes[slot[at]];
    }
    low = n == 2 && (ret->device[1] < ret->device[0] ||
                     (ret->device[1] == ret->device[0] && ret->inode[1] < ret->inode[0]));
    for (size_t i = 0; i < n; i++) {
        size_t at = i ^ low;
        if (open_folder_to_lock(dirs[at], path, &ret->fd[at], err) < 0)
            return -1;
        if (ret->fd[at] >= 0 && take_flock(w, ret->fd[at], path, err) < 0)
            return -1;
    }
    return 0;
}

int folder_lock_take(struct work *w, int dir, const char *path, struct folder_lock *ret,
                     struct err *err)
{
    int r = lock_all(w, &dir, 1, path, ret, err);
    if (r < 0)
        folder_lock_done(ret);
    return r;
}

int folder_lock_take_two(struct work *w, int dir, int other, const char *path,
                         struct folder_lock *ret, struct err *err)
{
    if (fd_same_file(dir, other))
        return folder_lock_take(w, dir, path, ret, err);
    int r = lock_all(w, (int[]){dir, other}, 2, path, ret, err);
    if (r < 0)
        folder_lock_done(ret);
    return r;
}

bool folder_lock_holds(const struct folder_lock *lock, int dir)
{
    struct stat st;
    return lock->mutex[0] && fstat(dir, &st) == 0 && st.st_dev == lock->device[0] &&
           st.st_ino == lock->inode[0];
}

void folder_lock_done(struct folder_lock *lock)
{
    for (size_t i = 0; i < FOLDER_LOCK_MAX; i++) {
        fd_closep(&lock->fd[i]);
        if (lock->mutex[i])
            pthread_mutex_unlock(lock->mutex[i]);
        lock->mutex[i] = NULL;
    }
}
