#include "gate/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define FOLDER "logs"
#define NAME "execution.jsonl"
#define LINES_MAX (8u << 20)
#define LINES_KEPT (64u << 10)
/* A gate holds the lock for one write. One that is stopped meanwhile must not stop all others for good. */
#define LOCK_PATIENCE_NS 1000000000u
/* How often the name may come to mean another file while it is opened. */
#define OPEN_TRIES 8

void execution_init(struct execution *x)
{
    *x = (struct execution){.fd = -1, .mount = -1};
    buf_init(&x->done, LINES_MAX);
    buf_init(&x->refused, LINES_MAX);
}

void execution_done(struct execution *x)
{
    fd_closep(&x->fd);
    fd_closep(&x->mount);
    buf_done(&x->done);
    buf_done(&x->refused);
}

/* The folder belongs to whoever owns the run, also when root's gate made it. */
static void give_to_owner(int fd, const struct stat *owner)
{
    if (geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0)
        return; /* root keeps it: still readable by its owner */
}

/* The log of a run, made where there is none. */
static int open_log(int mount, int *ret_fd, struct err *err)
{
    struct stat owner;
    struct stat st;
    if (fstat(mount, &owner) < 0)
        return err_set(err, ERR_INTERNAL, "the run's state folder: %s", strerror(errno));
    bool made = mkdirat(mount, FOLDER, 0755) == 0;
    FD_AT_END int logs = fd_open_beneath(mount, FOLDER, O_RDONLY | O_DIRECTORY, 0);
    FD_AT_END int fd = -1;
    if (logs >= 0) {
        if (made)
            give_to_owner(logs, &owner);
        fd = fd_open_beneath(logs, NAME, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0644);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, err_code_for_file(errno), "`@state/" FOLDER "/" NAME "`: %s",
                       errno == ELOOP ? "is or lies behind a symbolic link" : strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return err_set(err, ERR_INTERNAL,
                       "`@state/" FOLDER "/" NAME "` is not a plain file with one name");
    if (st.st_size == 0)
        give_to_owner(fd, &owner);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int execution_open(struct execution *x, const char *state_mount, struct err *err)
{
    struct err why;
    x->mount = open(state_mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->mount < 0)
        return err_set(err, ERR_NOT_FOUND, "the run's state folder %s: %s", state_mount,
                       strerror(errno));
    if (open_log(x->mount, &x->fd, &why) == 0)
        return 0;
    return err_set(err, why.code, "in %.300s: %.300s", state_mount, why.message);
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

/* Does not wait: the gate has other things to do. 0, an errno, or -1, to be tried again. */
static int lock_log(struct execution *x)
{
    while (flock(x->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return errno;
        uint64_t now = clock_mono_ns();
        x->locked_ns = x->locked_ns ? x->locked_ns : now;
        if (now - x->locked_ns < LOCK_PATIENCE_NS)
            return -1;
        x->locked_ns = 0;
        return EWOULDBLOCK;
    }
    x->locked_ns = 0;
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
static int write_log_lines(int fd, struct buf *lines)
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

static int refuse_unwritable_log(struct err *err, int error)
{
    static const char text[] = "the run's log `@state/" FOLDER "/" NAME "` cannot be written (%s): "
                               "calls are refused until it can";
    if (error == EWOULDBLOCK)
        return err_set(err, ERR_SESSION_BUSY, text, "another process has it locked");
    return err_set(err, err_is_full(error) ? ERR_DISK_FULL : ERR_INTERNAL, text, strerror(error));
}

/* Whether it is still the file that has the name, and has no other. */
static bool is_current_log(const struct execution *x)
{
    struct stat mine;
    struct stat named;
    return fstatat(x->mount, FOLDER "/" NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(x->fd, &mine) == 0 && named.st_ino == mine.st_ino && named.st_dev == mine.st_dev &&
           mine.st_nlink == 1;
}

/* Locks the file that has the name. 1: another process has it locked. */
static int lock_named(struct execution *x, struct err *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        int fd = -1;
        int error = lock_log(x);
        if (error < 0)
            return 1;
        if (error)
            return refuse_unwritable_log(err, error);
        if (is_current_log(x))
            return 0;
        flock(x->fd, LOCK_UN);
        if (open_log(x->mount, &fd, err) < 0)
            return -1;
        fd_closep(&x->fd);
        x->fd = fd;
    }
    return err_set(err, ERR_SESSION_BUSY,
                   "the run's log `@state/" FOLDER "/" NAME "` keeps being replaced: calls are "
                   "refused until it is not");
}

static int write_locked(struct execution *x, struct err *err)
{
    int r = lock_named(x, err);
    if (r != 0)
        return r;
    int error = ends_torn(x->fd) ? -fd_write_all(x->fd, "\n", 1) : 0;
    if (!error)
        error = write_log_lines(x->fd, &x->done);
    if (!error)
        error = write_log_lines(x->fd, &x->refused);
    flock(x->fd, LOCK_UN);
    return error ? refuse_unwritable_log(err, error) : 0;
}

/* As long as a line of a call that was done waits for room, no call starts. */
int execution_flush(struct execution *x, struct err *err)
{
    int r = x->done.len + x->refused.len > 0 ? write_locked(x, err) : 0;
    if (r < 0)
        buf_reset(&x->refused, LINES_KEPT);
    if (r != 0)
        return r;
    if (!x->lost)
        return 0;
    x->lost = false;
    return err_set(err, ERR_INTERNAL,
                   "more lines for the run's log than there was room for: some are lost");
}
