#include "session/marker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "session/process_group.h"

/* As long as a name and its suffixes. */
#define NAME_BYTES 64
/* The first byte of a marker. */
#define RUNNING '+'
#define RESTING '-'
#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_BYTES 36
#define BOOT_AT (1 + PROCESS_GROUP_TEXT)
#define TEXT_BYTES (BOOT_AT + BOOT_BYTES)
#define OPEN_TRIES 2000
#define PAUSE_NS 1000000
/* The kernel kills the processes of a cell behind its gate; that takes a moment. */
#define DEATH_TRIES 2000

void marker_init(struct marker *m, const char *store)
{
    *m = (struct marker){.store = store ? mem_dup(store) : NULL, .folder = -1, .fd = -1};
}

void marker_done(struct marker *m)
{
    fd_closep(&m->fd);
    fd_closep(&m->folder);
    free(m->store);
    marker_init(m, NULL);
}

/* Zeros where it cannot be told. */
static void read_boot(char out[BOOT_BYTES])
{
    FD_AT_END int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_upto(fd, out, BOOT_BYTES) != BOOT_BYTES)
        memset(out, 0, BOOT_BYTES);
}

/* A marker without an id may be of this one. */
static bool is_of_this_boot(int fd)
{
    char noted[BOOT_BYTES] = {0};
    char now[BOOT_BYTES];
    read_boot(now);
    return pread(fd, noted, sizeof noted, BOOT_AT) != BOOT_BYTES || !noted[0] || !now[0] ||
           memcmp(noted, now, BOOT_BYTES) == 0;
}

static int open_folder(struct marker *m, bool make)
{
    if (m->folder >= 0 || !m->store)
        return m->store ? 0 : -ENOENT;
    FREE_AT_END char *path = mem_format("%s.running", m->store);
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    m->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return m->folder < 0 ? -errno : 0;
}

static void index_name(const char *tag, size_t root, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s.%zu", tag, root);
}

/* 1 with the lock, 0 where somebody has it or took the name away, -errno. */
static int open_locked(int folder, const char *name, int flags, int *ret_fd)
{
    struct stat mine;
    struct stat named;
    FD_AT_END int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 0 : -errno;
    /* Somebody may have removed it before it was locked. */
    if (fstat(fd, &mine) < 0 || fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
        mine.st_ino != named.st_ino)
        return 0;
    *ret_fd = TAKE_FD(fd);
    return 1;
}

/* Until it is locked, another gate may take it for one that was left. */
static int make(struct marker *m, const char *tag)
{
    int r = 0;
    snprintf(m->tag, sizeof m->tag, "%s", tag);
    for (int i = 0; r == 0 && i < OPEN_TRIES; i++) {
        r = open_locked(m->folder, m->tag, O_CREAT, &m->fd);
        if (r == 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return r > 0 ? 0 : r < 0 ? r : -EBUSY;
}

static int write_at(int fd, const char *bytes, size_t n)
{
    ssize_t r = pwrite(fd, bytes, n, 0);
    return r == (ssize_t)n ? 0 : r < 0 ? -errno : -ENOSPC;
}

/* An index that cannot be linked is missing, and the next gate says so. */
static void link_indexes(const struct marker *m, int store, const bool roots[ROOTS_MAX])
{
    char from[NAME_BYTES];
    char to[NAME_BYTES];
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        if (!roots[i])
            continue;
        snprintf(from, sizeof from, "guards-%zu", i);
        index_name(m->tag, i, to);
        unlinkat(m->folder, to, 0);
        (void)!linkat(store, from, m->folder, to, 0);
    }
}

/* Somebody may have removed it, with its folder. */
static void close_if_gone(struct marker *m)
{
    struct stat st;
    if (m->fd < 0 || (fstat(m->fd, &st) == 0 && st.st_nlink > 0))
        return;
    fd_closep(&m->fd);
    fd_closep(&m->folder);
}

static int try_set(struct marker *m, const char *tag, const bool roots[ROOTS_MAX], pid_t group)
{
    char text[TEXT_BYTES] = {RUNNING};
    close_if_gone(m);
    int r = open_folder(m, true);
    if (r == 0 && m->fd < 0)
        r = make(m, tag);
    if (r < 0)
        return r;
    FD_AT_END int store = open(m->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store < 0)
        return -errno;
    link_indexes(m, store, roots);
    process_group_write(group, text + 1);
    read_boot(text + BOOT_AT);
    m->recent = true;
    return write_at(m->fd, text, sizeof text);
}

int marker_set(struct marker *m, const char *tag, const bool roots[ROOTS_MAX], pid_t group)
{
    int r = -1;
    /* Somebody may have removed the folder. */
    for (int i = 0; r < 0 && i < 2; i++) {
        r = try_set(m, tag, roots, group);
        if (r < 0) {
            fd_closep(&m->fd);
            fd_closep(&m->folder);
        }
    }
    return r;
}

void marker_set_group(struct marker *m, pid_t group)
{
    char text[PROCESS_GROUP_TEXT + BOOT_BYTES];
    struct stat st;
    process_group_write(group, text);
    read_boot(text + PROCESS_GROUP_TEXT);
    m->recent = true;
    if (fstat(m->fd, &st) < 0 || pwrite(m->fd, text, sizeof text, 1) < 0)
        return;
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
    (void)!futimens(m->fd, times);
}

int marker_set_again(const struct marker *m)
{
    struct stat st;
    if (fstat(m->fd, &st) < 0 || st.st_nlink == 0)
        return -ESTALE;
    return write_at(m->fd, (const char[]){RUNNING}, 1);
}

void marker_rest(const struct marker *m)
{
    /* Should that fail, the next gate compares once more. */
    (void)write_at(m->fd, (const char[]){RESTING}, 1);
}

static void remove_files(int folder, const char *tag)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        index_name(tag, i, name);
        unlinkat(folder, name, 0);
    }
    unlinkat(folder, tag, 0);
}

void marker_remove(struct marker *m)
{
    if (m->fd >= 0) {
        marker_rest(m);
        remove_files(m->folder, m->tag);
    }
    fd_closep(&m->fd);
}

static int64_t time_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

int64_t marker_time_ns(const struct marker *m)
{
    return time_of(m->fd);
}

int64_t marker_until_ns(const struct marker *m)
{
    struct timespec now;
    struct timespec up;
    if (m->recent || clock_gettime(CLOCK_REALTIME, &now) < 0 ||
        clock_gettime(CLOCK_BOOTTIME, &up) < 0)
        return 0;
    int64_t started = (int64_t)(now.tv_sec - up.tv_sec + 1) * 1000000000 + now.tv_nsec - up.tv_nsec;
    /* Otherwise the clock was set back. */
    return time_of(m->fd) < started ? started : 0;
}

/* False: nothing was left to be judged. */
static bool was_running(int fd)
{
    char text[TEXT_BYTES] = {0};
    if (pread(fd, text, sizeof text, 0) < 1 || text[0] != RUNNING)
        return false;
    text[BOOT_AT - 1] = '\0';
    for (int i = 0; i < DEATH_TRIES && process_group_lives(text + 1); i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return true;
}

/* Takes `other`. */
static bool take(struct marker *m, struct marker *other, bool needed)
{
    bool older = m->fd < 0 || !needed || time_of(other->fd) < time_of(m->fd);
    bool running = was_running(other->fd);
    bool recent = (needed && m->recent) || (running && is_of_this_boot(other->fd));
    if (running)
        m->recent = recent;
    if (!running || !older) {
        marker_remove(other);
        return false;
    }
    marker_remove(m);
    m->fd = other->fd;
    memcpy(m->tag, other->tag, sizeof m->tag);
    return true;
}

bool marker_take_over(struct marker *m, bool needed)
{
    bool taken = false;
    int copy = -1;
    if (open_folder(m, false) == 0)
        copy = openat(m->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return false;
    for (struct dirent *d; (d = readdir(dir));) {
        struct marker other = {.folder = m->folder, .fd = -1};
        bool own = m->fd >= 0 && strcmp(d->d_name, m->tag) == 0;
        if (own || strchr(d->d_name, '.') || strlen(d->d_name) > MARKER_TAG_MAX)
            continue;
        snprintf(other.tag, sizeof other.tag, "%.*s", MARKER_TAG_MAX, d->d_name);
        /* Locked: its gate lives. */
        if (open_locked(m->folder, d->d_name, 0, &other.fd) > 0)
            taken |= take(m, &other, needed || taken);
    }
    closedir(dir);
    return taken;
}

int marker_read_index(const struct marker *m, size_t root, struct buf *ret)
{
    char name[NAME_BYTES];
    struct stat st;
    index_name(m->tag, root, name);
    FD_AT_END int fd = openat(m->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || buf_reserve(ret, (size_t)st.st_size) < 0)
        return -EINVAL;
    if (fd_read_upto(fd, ret->data, (size_t)st.st_size) != st.st_size)
        return -EIO;
    ret->len = (size_t)st.st_size;
    return 0;
}
