/* Files of other programs, in folders that others may have filled: a repository can bring links at such names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/setup_parts.h"

#define BACKUPS_MAX 99

static int refuse_target(const struct setup_target *t, int error, struct err *err)
{
    if (error == ELOOP || error == EXDEV)
        return err_set(err, ERR_CONFLICT, "%s: a link is on the way; it was not followed", t->path);
    return err_set(err, ERR_CONFLICT, "%s: %s", t->path, strerror(error));
}

static int open_base(struct setup_target *t, const char *place, const char *project,
                     struct err *err)
{
    const char *home = getenv("HOME");
    t->at_home = *place == '~';
    if (t->at_home && !(home && *home == '/'))
        return err_set(err, ERR_CONFLICT, "%s: the environment has no HOME", place);
    const char *folder = t->at_home ? home : project;
    bool here = !t->at_home && strcmp(folder, ".") == 0;
    t->path = here ? mem_dup(place + 2) : mem_format("%s/%s", folder, place + 2);
    t->name = mem_dup(place + 2);
    t->base = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return t->base < 0 ? refuse_target(t, errno, err) : 0;
}

static int read_target(struct setup_target *t, int fd, struct err *err)
{
    if (fstat(fd, &t->st) < 0)
        return refuse_target(t, errno, err);
    if (!S_ISREG(t->st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s: no file", t->path);
    if (t->st.st_size > (off_t)SETUP_BYTES_MAX ||
        buf_reserve(&t->old, (size_t)t->st.st_size + 1) < 0)
        return err_set(err, ERR_CONFLICT, "%s: too large", t->path);
    ssize_t n = fd_read_upto(fd, t->old.data, (size_t)t->st.st_size);
    if (n < 0)
        return refuse_target(t, (int)-n, err);
    t->old.len = (size_t)n;
    t->exists = true;
    return 0;
}

int setup_open(struct setup_target *target, const char *place, const char *project, struct err *err)
{
    if (open_base(target, place, project, err) < 0)
        return -1;
    FD_AT_END int fd = fd_open_beneath(target->base, target->name, O_RDONLY | O_NOCTTY | O_NONBLOCK,
                                       0);
    if (fd < 0)
        return errno == ENOENT ? 0 : refuse_target(target, errno, err);
    return read_target(target, fd, err);
}

/* The folder that the file is in, made where it is missing. */
static int open_setup_parent(const struct setup_target *t, struct err *err)
{
    FD_AT_END int at = fcntl(t->base, F_DUPFD_CLOEXEC, 0);
    const char *name = t->name;
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        FREE_AT_END char *part = mem_copy(name, (size_t)(slash - name));
        if (mkdirat(at, part, t->at_home ? 0700 : 0777) < 0 && errno != EEXIST)
            return refuse_target(t, errno, err);
        int inner = fd_open_beneath(at, part, O_RDONLY | O_DIRECTORY, 0);
        if (inner < 0)
            return refuse_target(t, errno, err);
        fd_closep(&at);
        at = inner;
    }
    return at < 0 ? refuse_target(t, errno, err) : TAKE_FD(at);
}

static const char *leaf_of(const struct setup_target *t)
{
    const char *slash = strrchr(t->name, '/');
    return slash ? slash + 1 : t->name;
}

/* A new file that is on disk. It belongs to whom the old one belonged, and is as open. */
static int write_fresh(const struct setup_target *t, int dir, const char *name, struct str text,
                       struct err *err)
{
    mode_t mode = t->exists ? t->st.st_mode & 0777 : t->at_home ? 0600 : 0666;
    FD_AT_END int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return refuse_target(t, errno, err);
    int r = fd_write_all(fd, text.p, text.n);
    if (r == 0 && t->exists && t->st.st_uid != geteuid())
        r = fchown(fd, t->st.st_uid, t->st.st_gid) < 0 ? -errno : 0;
    if (r == 0 && t->exists)
        r = fchmod(fd, mode) < 0 ? -errno : 0;
    if (r == 0)
        r = fsync(fd) < 0 ? -errno : 0;
    if (r == 0)
        return 0;
    unlinkat(dir, name, 0);
    return refuse_target(t, -r, err);
}

/* What was saved before is kept, too. */
static int keep_old(const struct setup_target *t, int dir, char **ret, struct err *err)
{
    for (int i = 0; i < BACKUPS_MAX; i++) {
        char number[8] = "";
        if (i)
            snprintf(number, sizeof number, ".%d", i);
        FREE_AT_END char *name = mem_format("%s.before-sandgate%s", leaf_of(t), number);
        struct stat st;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (write_fresh(t, dir, name, buf_str(&t->old), err) < 0)
            return -1;
        *ret = mem_format("%s.before-sandgate%s", t->path, number);
        return 0;
    }
    return err_set(err, ERR_CONFLICT, "%s: too many *.before-sandgate beside it", t->path);
}

static bool is_as_it_was(const struct setup_target *t, int dir)
{
    struct stat now;
    if (fstatat(dir, leaf_of(t), &now, AT_SYMLINK_NOFOLLOW) < 0)
        return !t->exists && errno == ENOENT;
    return t->exists && now.st_ino == t->st.st_ino && now.st_dev == t->st.st_dev &&
           now.st_size == t->st.st_size && now.st_mtim.tv_sec == t->st.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == t->st.st_mtim.tv_nsec;
}

int setup_store(const struct setup_target *target, struct str text, char **ret_backup,
                struct err *err)
{
    FREE_AT_END char *fresh = mem_format(".sandgate-setup.%d", (int)getpid());
    FREE_AT_END char *backup = NULL;
    FD_AT_END int dir = open_setup_parent(target, err);
    if (dir < 0 || (target->exists && keep_old(target, dir, &backup, err) < 0) ||
        write_fresh(target, dir, fresh, text, err) < 0)
        return -1;
    if (!is_as_it_was(target, dir) || renameat(dir, fresh, dir, leaf_of(target)) < 0) {
        unlinkat(dir, fresh, 0);
        return err_set(err, ERR_CONFLICT, "%s: it changed meanwhile; try again", target->path);
    }
    fsync(dir);
    *ret_backup = TAKE_PTR(backup);
    return 0;
}

void setup_target_done(struct setup_target *target)
{
    fd_closep(&target->base);
    buf_done(&target->old);
    free(target->path);
    free(target->name);
}
