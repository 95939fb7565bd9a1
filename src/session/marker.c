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
#define BOOT_BYTES PROCESS_GROUP_BOOT
#define BOOT_AT (1 + PROCESS_GROUP_TEXT)
#define TEXT_BYTES (BOOT_AT + BOOT_BYTES)
/* What a marker is called until it is locked. */
#define NEW ".new"

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

/* A marker without an id may be of this one. */
static bool is_of_this_boot(int fd)
{
    char noted[BOOT_BYTES] = {0};
    char now[BOOT_BYTES];
    process_group_boot(now);
    return pread(fd, noted, sizeof noted, BOOT_AT) != BOOT_BYTES || !noted[0] || !now[0] ||
           memcmp(noted, now, BOOT_BYTES) == 0;
}

static int open_marker_folder(struct marker *m, bool make)
{
    if (m->folder >= 0 || !m->store)
        return m->store ? 0 : -ENOENT;
    FREE_AT_END char *path = mem_format("%s.running", m->store);
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    m->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return m->folder < 0 ? -errno : 0;
}

static void make_index_name(const char *tag, size_t root, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s.%zu", tag, root);
}

/* 1 with the lock, 0 where somebody has it or took the name away, -errno. */
static int open_locked(int folder, const char *name, int *ret_fd)
{
    struct stat mine;
    struct stat named;
    FD_AT_END int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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

static int write_marker_state(int fd, const char *bytes, size_t n)
{
    ssize_t r = pwrite(fd, bytes, n, 0);
    return r == (ssize_t)n ? 0 : r < 0 ? -errno : -ENOSPC;
}

/* It gets its name when it is locked, so that no other gate takes it for one that was left, and none has to wait. */
static int name_locked(const struct marker *m, int fd, const char *fresh)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -errno;
    int r = write_marker_state(fd, (const char[]){RESTING}, 1);
    if (r == 0 && renameat(m->folder, fresh, m->folder, m->tag) < 0)
        r = -errno;
    return r;
}

static int make_marker(struct marker *m, const char *tag)
{
    char fresh[NAME_BYTES];
    snprintf(m->tag, sizeof m->tag, "%.20s-%x", tag, m->made++);
    snprintf(fresh, sizeof fresh, "%s" NEW, m->tag);
    FD_AT_END int fd = openat(m->folder, fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = name_locked(m, fd, fresh);
    if (r < 0)
        unlinkat(m->folder, fresh, 0);
    else
        m->fd = TAKE_FD(fd);
    return r;
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
        make_index_name(m->tag, i, to);
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
    int r = open_marker_folder(m, true);
    if (r == 0 && m->fd < 0)
        r = make_marker(m, tag);
    if (r < 0)
        return r;
    FD_AT_END int store = open(m->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store < 0)
        return -errno;
    link_indexes(m, store, roots);
    process_group_write(group, text + 1);
    process_group_boot(text + BOOT_AT);
    m->recent = true;
    return write_marker_state(m->fd, text, sizeof text);
}

int marker_set(struct marker *m, const char *tag, const bool roots[ROOTS_MAX], pid_t group)
{
    int r = -1;
    /* Somebody may have removed the folder. */
    for (int i = 0; r < 0 && i < 2; i++) {
        r = try_set(m, tag, roots, group);
        if (r < 0)
            marker_give_back(m);
    }
    return r;
}

void marker_set_group(struct marker *m, pid_t group)
{
    char text[PROCESS_GROUP_TEXT + BOOT_BYTES];
    struct stat st;
    process_group_write(group, text);
    process_group_boot(text + PROCESS_GROUP_TEXT);
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
    return write_marker_state(m->fd, (const char[]){RUNNING}, 1);
}

void marker_rest(const struct marker *m)
{
    /* Should that fail, the next gate compares once more. */
    (void)write_marker_state(m->fd, (const char[]){RESTING}, 1);
}

static void remove_files(int folder, const char *tag)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        make_index_name(tag, i, name);
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

void marker_give_back(struct marker *m)
{
    marker_remove(m);
    fd_closep(&m->folder);
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

/* False: nothing was left to be judged. One that was damaged says nothing, so there may be something. `group` is where the
 * text about its processes goes. */
static bool was_running(int fd, char group[PROCESS_GROUP_TEXT])
{
    char text[TEXT_BYTES] = {0};
    if (pread(fd, text, sizeof text, 0) > 0 && text[0] == RESTING)
        return false;
    memcpy(group, text + 1, PROCESS_GROUP_TEXT);
    group[PROCESS_GROUP_TEXT - 1] = '\0';
    return true;
}

/* Takes `other`, or gives it back where *ret_dying is set to true. */
static bool take_marker(struct marker *m, struct marker *other, bool needed, bool *ret_dying)
{
    char group[PROCESS_GROUP_TEXT];
    bool older = m->fd < 0 || !needed || time_of(other->fd) < time_of(m->fd);
    bool running = was_running(other->fd, group);
    if (running && ret_dying && process_group_lives(group)) {
        *ret_dying = true;
        fd_closep(&other->fd);
        return false;
    }
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

/* A gate died before it had its marker locked. */
static void remove_new(int folder, const char *name)
{
    FD_AT_END int fd = -1;
    if (open_locked(folder, name, &fd) > 0)
        unlinkat(folder, name, 0);
}

/* 1: it was taken over, 0, -errno. */
static int look_at_marker(struct marker *m, const char *name, bool needed, bool *ret_dying)
{
    struct marker other = {.folder = m->folder, .fd = -1};
    const char *dot = strchr(name, '.');
    if (dot && strcmp(dot, NEW) == 0)
        remove_new(m->folder, name);
    if (dot || strlen(name) > MARKER_TAG_MAX || (m->fd >= 0 && strcmp(name, m->tag) == 0))
        return 0;
    snprintf(other.tag, sizeof other.tag, "%.*s", MARKER_TAG_MAX, name);
    int r = open_locked(m->folder, name, &other.fd);
    /* Locked: its gate lives. */
    if (r == 0 || r == -ENOENT)
        return 0;
    if (r < 0) {
        snprintf(m->damaged, sizeof m->damaged, "%s", other.tag);
        return r;
    }
    return take_marker(m, &other, needed, ret_dying);
}

int marker_take_over(struct marker *m, bool needed, bool *ret_dying)
{
    int taken = 0;
    int error = open_marker_folder(m, false);
    if (error < 0)
        return error == -ENOENT ? 0 : error;
    DIR *dir = fd_list(m->folder);
    if (!dir)
        return -errno;
    int unread = 0;
    for (struct dirent *d; error >= 0 && (d = fd_list_next(dir, &unread));) {
        error = look_at_marker(m, d->d_name, needed || taken, ret_dying);
        taken |= error > 0;
    }
    closedir(dir);
    /* What was taken is kept, and the rest is looked for again. */
    return error < 0 ? error : taken ? taken : -unread;
}

static bool is_marker_running(int folder, const char *name)
{
    char state = RUNNING;
    FD_AT_END int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    return pread(fd, &state, 1, 0) != 1 || state != RESTING;
}

bool marker_others_run(struct marker *m)
{
    bool any = false;
    int error = open_marker_folder(m, false);
    if (error < 0)
        return error != -ENOENT;
    DIR *dir = fd_list(m->folder);
    if (!dir)
        return true;
    int unread = 0;
    for (struct dirent *d; !any && (d = fd_list_next(dir, &unread));)
        any = !strchr(d->d_name, '.') && !(m->fd >= 0 && strcmp(d->d_name, m->tag) == 0) &&
              is_marker_running(m->folder, d->d_name);
    closedir(dir);
    return any || unread;
}

int marker_open_index(const struct marker *m, size_t root)
{
    char name[NAME_BYTES];
    struct stat st;
    make_index_name(m->tag, root, name);
    FD_AT_END int fd = openat(m->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return good ? TAKE_FD(fd) : -1;
}
