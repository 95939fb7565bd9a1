#include "gate/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define LINES_MAX (8u << 20)
#define LINES_KEPT (64u << 10)
/* A gate holds the lock for one write. One that is stopped meanwhile must not stop all others for good. */
#define LOCK_PATIENCE_NS 1000000000u
#define LOCK_RETRY_NS 200000

void execution_init(struct execution *x)
{
    *x = (struct execution){.fd = -1};
    buf_init(&x->done, LINES_MAX);
    buf_init(&x->refused, LINES_MAX);
}

void execution_done(struct execution *x)
{
    fd_closep(&x->fd);
    buf_done(&x->done);
    buf_done(&x->refused);
}

static int open_plain(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* The folder belongs to whoever owns the run, also when root's gate made it. */
static void give_to_owner(int fd, const struct stat *owner)
{
    if (geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0)
        return; /* root keeps it: still readable by its owner */
}

int execution_open(struct execution *x, const char *state_mount, struct err *err)
{
    FD_AT_END int mount = open(state_mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat owner;
    struct stat st;
    if (mount < 0 || fstat(mount, &owner) < 0)
        return err_set(err, ERR_NOT_FOUND, "the run's state folder %s: %s", state_mount,
                       strerror(errno));
    bool made = mkdirat(mount, "logs", 0755) == 0;
    FD_AT_END int logs = open_plain(mount, "logs", O_RDONLY | O_DIRECTORY, 0);
    FD_AT_END int fd = -1;
    if (logs >= 0) {
        if (made)
            give_to_owner(logs, &owner);
        fd = open_plain(logs, "execution.jsonl", O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0644);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_INTERNAL, "%s/logs/execution.jsonl: %s", state_mount,
                       errno == ELOOP ? "is or lies behind a symbolic link" : strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return err_set(err, ERR_INTERNAL,
                       "%s/logs/execution.jsonl is not a plain file with one name", state_mount);
    if (st.st_size == 0)
        give_to_owner(fd, &owner);
    x->fd = TAKE_FD(fd);
    return 0;
}

struct buf *execution_begin(struct execution *x, bool was_done)
{
    x->adding = was_done ? &x->done : &x->refused;
    x->before = x->adding->len;
    return x->adding;
}

void execution_end(struct execution *x)
{
    buf_add_char(x->adding, '\n');
    if (!x->adding->failed)
        return;
    x->adding->len = x->before;
    x->adding->failed = false;
    x->lost = true;
}

/* 0, or an errno. */
static int lock(int fd)
{
    const struct timespec pause = {.tv_nsec = LOCK_RETRY_NS};
    const uint64_t give_up = clock_mono_ns() + LOCK_PATIENCE_NS;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        if (clock_mono_ns() > give_up)
            return EWOULDBLOCK;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Whether the log ends in the middle of a line: another gate of the run died while it wrote. */
static bool ends_torn(int fd)
{
    struct stat st;
    char last;
    return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 &&
           last != '\n';
}

/* Removes `n` bytes, half a line of ours, from the end. Should that fail, the next writer ends that line. */
static void cut_half_line(int fd, size_t n)
{
    struct stat st;
    if (n > 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)n)
        (void)!ftruncate(fd, st.st_size - (off_t)n);
}

/* Writes whole lines and removes them from the buffer. 0, or an errno. */
static int write_lines(int fd, struct buf *lines)
{
    size_t done = 0;
    int error = 0;
    while (done < lines->len && error == 0) {
        ssize_t n = write(fd, lines->data + done, lines->len - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            error = errno;
    }
    if (error) {
        const char *end = done ? memrchr(lines->data, '\n', done) : NULL;
        size_t whole = end ? (size_t)(end - lines->data) + 1 : 0;
        cut_half_line(fd, done - whole);
        done = whole;
    }
    buf_consume(lines, done);
    if (lines->len == 0)
        buf_reset(lines, LINES_KEPT);
    return error;
}

static int write_locked(struct execution *x)
{
    int error = lock(x->fd);
    if (error)
        return error;
    if (ends_torn(x->fd))
        error = -fd_write_all(x->fd, "\n", 1);
    if (!error)
        error = write_lines(x->fd, &x->done);
    if (!error)
        error = write_lines(x->fd, &x->refused);
    flock(x->fd, LOCK_UN);
    return error;
}

static int refuse(struct err *err, int error)
{
    static const char text[] =
        "the run's log `@state/logs/execution.jsonl` cannot be written (%s): "
        "calls are refused until it can";
    if (error == EWOULDBLOCK)
        return err_set(err, ERR_SESSION_BUSY, text, "another process has it locked");
    return err_set(err, err_is_full(error) ? ERR_DISK_FULL : ERR_INTERNAL, text, strerror(error));
}

/* As long as a line of a call that was done waits for room, no call starts. */
int execution_flush(struct execution *x, struct err *err)
{
    int error = x->done.len + x->refused.len > 0 ? write_locked(x) : 0;
    if (error) {
        buf_reset(&x->refused, LINES_KEPT);
        return refuse(err, error);
    }
    if (!x->lost)
        return 0;
    x->lost = false;
    return err_set(err, ERR_INTERNAL,
                   "more lines for the run's log than there was room for: some are lost");
}
