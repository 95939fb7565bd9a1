/* What was taken out of a project is put back by its user. Content and names were chosen by a command, so no link is followed
 * on either side. It is copied under another name first, which then becomes its own if that is free. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/spec.h"
#include "core/path.h"
#include "session/quarantine_notes.h"

#define CHUNK (64u << 10)
#define DEPTH_MAX 128
/* A copy of a link is a file with the target as its content, and this bit, which no other copy has. */
#define IS_LINK S_ISVTX

struct owner {
    bool given; /* by root, to whom the folder belongs to */
    uid_t uid;
    gid_t gid;
};

static int copy_kept_bytes(int from, int to)
{
    FREE_AT_END char *bytes = mem_zero(CHUNK);
    for (;;) {
        ssize_t n = fd_read_upto(from, bytes, CHUNK);
        if (n <= 0)
            return (int)n;
        int r = fd_write_all(to, bytes, (size_t)n);
        if (r < 0)
            return r;
    }
}

static int give_owner_and_times(int fd, const struct stat *st, const struct owner *owner)
{
    const struct timespec times[] = {st->st_atim, st->st_mtim};
    if (owner->given && fchown(fd, owner->uid, owner->gid) < 0)
        return -errno;
    return fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0 ? -errno : 0;
}

static int make_kept_link(int from, const struct stat *st, int to, const char *as,
                          const struct owner *owner)
{
    const struct timespec times[] = {st->st_atim, st->st_mtim};
    char target[PATH_TEXT_MAX];
    ssize_t n = fd_read_upto(from, target, sizeof target - 1);
    if (n < 0)
        return (int)n;
    target[n] = '\0';
    if (symlinkat(target, to, as) < 0)
        return -errno;
    if (owner->given && fchownat(to, as, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return utimensat(to, as, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int copy_kept_file(int from, const struct stat *st, int to, const char *as,
                          const struct owner *owner)
{
    if (st->st_mode & IS_LINK)
        return make_kept_link(from, st, to, as, owner);
    FD_AT_END int out = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return -errno;
    int r = copy_kept_bytes(from, out);
    return r < 0 ? r : give_owner_and_times(out, st, owner);
}

static int copy_kept_entry(int dir, const char *name, int to, const char *as,
                           const struct owner *owner, int depth);

static int copy_kept_children(int from, int out, const struct owner *owner, int depth)
{
    DIR *all = fd_list(from);
    if (!all)
        return -errno;
    int r = 0;
    int unread = 0;
    for (struct dirent *d; r == 0 && (d = fd_list_next(all, &unread));) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            r = copy_kept_entry(from, d->d_name, out, d->d_name, owner, depth + 1);
    }
    closedir(all);
    return r < 0 ? r : -unread;
}

static int copy_kept_folder(int from, const struct stat *st, int to, const char *as,
                            const struct owner *owner, int depth)
{
    if (depth == DEPTH_MAX || mkdirat(to, as, 0700) < 0)
        return depth == DEPTH_MAX ? -ELOOP : -errno;
    FD_AT_END int out = openat(to, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0)
        return -errno;
    int r = copy_kept_children(from, out, owner, depth);
    return r < 0 ? r : give_owner_and_times(out, st, owner);
}

/* A copy has the mode of what it is a copy of, which may keep even its owner out. *ret_stat is from before that. */
static int open_kept(int dir, const char *name, struct stat *ret_stat)
{
    static const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    char self[64];
    FD_AT_END int look = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (look < 0 || fstat(look, ret_stat) < 0)
        return -errno;
    int fd = openat(dir, name, flags);
    if (fd < 0 && errno == EACCES) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", look);
        (void)!chmod(self, 0700);
        fd = openat(dir, name, flags);
    }
    return fd < 0 ? -errno : fd;
}

static int copy_kept_entry(int dir, const char *name, int to, const char *as,
                           const struct owner *owner, int depth)
{
    struct stat st;
    FD_AT_END int from = open_kept(dir, name, &st);
    if (from < 0)
        return from;
    if (S_ISDIR(st.st_mode))
        return copy_kept_folder(from, &st, to, as, owner, depth);
    return S_ISREG(st.st_mode) ? copy_kept_file(from, &st, to, as, owner) : -EINVAL;
}

/* What was copied before something failed. */
static void discard_restored(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0)
        return;
    FD_AT_END int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *all = fd < 0 ? NULL : fdopendir(fd);
    if (!all)
        return;
    int inside = fd;
    fd = -1;
    (void)!fchmod(inside, 0700);
    for (struct dirent *d; (d = readdir(all));) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            discard_restored(inside, d->d_name);
    }
    closedir(all);
    unlinkat(dir, name, AT_REMOVEDIR);
}

/* A number alone may be another folder's by now. That of a device changes with a mount, and is asked for only where the file
 * system has no times of birth. */
static bool is_its_folder(const struct quarantine_note *note, int folder)
{
    struct cell_root was = {.device = note->device, .inode = note->inode, .born_ns = note->born_ns};
    struct stat st;
    if (note->born_ns && fstat(folder, &st) == 0)
        was.device = st.st_dev;
    return spec_is_root(&was, folder);
}

/* The folder that the entry was in, and its name there. */
static int open_parent(const struct quarantine_note *note, const char **ret_name)
{
    const char *slash = strrchr(note->path, '/');
    FREE_AT_END char *parent = slash ? mem_copy(note->path, (size_t)(slash - note->path))
                                     : mem_dup(".");
    FD_AT_END int folder = open(note->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret_name = slash ? slash + 1 : note->path;
    if (folder < 0)
        return -errno;
    /* An agent that works in a folder around it may have put another one, or a link, in its place. */
    if (!is_its_folder(note, folder))
        return -ESTALE;
    int fd = fd_open_beneath(folder, parent, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? -errno : fd;
}

static int refuse_restore(const struct quarantine_note *note, int error, struct err *err)
{
    if (error == EEXIST)
        return err_set(err, ERR_ALREADY_EXISTS,
                       "%s/%s exists: move it away first. Nothing was restored", note->folder,
                       note->path);
    if (error == ESTALE)
        return err_set(err, ERR_CONFLICT,
                       "%s is another folder now than the one that %s was taken from: put that one "
                       "back, or copy from where `sandgate quarantine list` shows it. Nothing was "
                       "restored",
                       note->folder, note->path);
    return err_set(err, err_code_for_file(error), "restoring %s/%s: %s", note->folder, note->path,
                   strerror(error));
}

int quarantine_restore(const struct quarantine_note *note, struct err *err)
{
    const char *name;
    struct stat st;
    char temp[64];
    uint64_t number = 0;
    if (!note->folder)
        return err_set(
            err, ERR_NOT_FOUND,
            "it is not known where `%s` was: its gate was killed, or its note is damaged. "
            "`sandgate quarantine list` shows where it lies",
            note->id);
    FD_AT_END int parent = open_parent(note, &name);
    if (parent < 0)
        return refuse_restore(note, -parent, err);
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_restore(note, EEXIST, err);
    if (note->content < 0 || fstatat(note->content, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "nothing is kept of %s/%s: it was a FIFO, a socket or a device, or somebody "
                       "removed it",
                       note->folder, note->path);
    if (fstat(parent, &st) < 0 || getrandom(&number, sizeof number, 0) < 0)
        return refuse_restore(note, errno, err);
    struct owner owner = {geteuid() == 0, st.st_uid, st.st_gid};
    snprintf(temp, sizeof temp, "sandgate-restore-%016llx", (unsigned long long)number);
    int r = copy_kept_entry(note->content, name, parent, temp, &owner, 0);
    if (r == 0 && renameat2(parent, temp, parent, name, RENAME_NOREPLACE) < 0)
        r = -errno;
    if (r < 0)
        discard_restored(parent, temp);
    return r < 0 ? refuse_restore(note, -r, err) : 0;
}
