#include "work/git_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/dir_entries.h"
#include "work/work.h"

#define COMPARED_BYTES (64u << 10)
#define NAMES_MAX ((size_t)64 << 20)

static int open_git_at(int dir, const char *path, int flags)
{
    int fd = beneath_open_at(dir, path, flags, 0, RESOLVE_NO_SYMLINKS);
    return fd < 0 ? -errno : fd;
}

int git_file_stat(int dir, const char *path, struct stat *ret)
{
    FD_AT_END int fd = open_git_at(dir, path, O_PATH | O_NOFOLLOW);
    if (fd == -ENOTDIR)
        return -ENOENT;
    if (fd == -ELOOP) {
        /* A link at the end is something; one on the way leads nowhere. */
        const char *name;
        FD_AT_END int parent = git_file_parent(dir, path, false, &name);
        if (parent < 0)
            return parent;
        return fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    }
    if (fd < 0)
        return fd;
    return fstat(fd, ret) < 0 ? -errno : 0;
}

int git_file_open(int dir, const char *path, struct stat *ret)
{
    FD_AT_END int fd = open_git_at(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return fd;
    if (fstat(fd, ret) < 0)
        return -errno;
    return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int git_file_read(int dir, const char *path, size_t max, struct buf *out)
{
    struct stat st;
    FD_AT_END int fd = git_file_open(dir, path, &st);
    if (fd < 0)
        return fd;
    if (st.st_size < 0 || (uint64_t)st.st_size > max)
        return -EFBIG;
    if (buf_reserve(out, (size_t)st.st_size + 1) < 0)
        return -EFBIG;
    ssize_t n = fd_read_upto(fd, out->data + out->len, (size_t)st.st_size);
    if (n < 0)
        return (int)n;
    out->len += (size_t)n;
    return 0;
}

static int enter_git_folder(int dir, const char *name, bool make)
{
    int fd = open_git_at(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (fd != -ENOENT || !make)
        return fd;
    if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
        return -errno;
    return open_git_at(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

int git_file_parent(int dir, const char *path, bool make, const char **ret_name)
{
    int at = open_git_at(dir, ".", O_PATH | O_DIRECTORY);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        char name[PATH_NAME_MAX + 1];
        if ((size_t)(slash - path) >= sizeof name) {
            close(at);
            return -ENAMETOOLONG;
        }
        memcpy(name, path, (size_t)(slash - path));
        name[slash - path] = '\0';
        int next = enter_git_folder(at, name, make);
        close(at);
        at = next;
    }
    *ret_name = path;
    return at == -ENOTDIR ? -ENOENT : at;
}

int git_file_list(int dir, struct buf *out)
{
    FD_AT_END int fd = open_git_at(dir, ".", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = fd};
    for (const struct dirent64 *d; (d = dir_entries_next(&in));)
        buf_add(out, d->d_name, strlen(d->d_name) + 1);
    if (in.error)
        return -in.error;
    return out->failed ? -E2BIG : 0;
}

static int compare_bytes(struct work *w, int a, int b)
{
    FREE_AT_END char *bytes = mem_zero(2 * (size_t)COMPARED_BYTES);
    struct err ignored;
    for (;;) {
        ssize_t n = fd_read_upto(a, bytes, COMPARED_BYTES);
        ssize_t m = fd_read_upto(b, bytes + COMPARED_BYTES, COMPARED_BYTES);
        if (n < 0 || m < 0)
            return n < 0 ? (int)n : (int)m;
        if (n != m || memcmp(bytes, bytes + COMPARED_BYTES, (size_t)n) != 0)
            return 1;
        if (n == 0)
            return 0;
        if (work_check_cancel(w, &ignored) < 0)
            return -ECANCELED;
    }
}

int git_files_compare(struct work *w, int dir, int other, const char *path)
{
    struct stat st;
    struct stat other_st;
    FD_AT_END int a = git_file_open(dir, path, &st);
    FD_AT_END int b = git_file_open(other, path, &other_st);
    if (a < 0 || b < 0)
        return a < 0 ? a : b;
    return st.st_size != other_st.st_size ? 1 : compare_bytes(w, a, b);
}

/* Its folders go up to `top`, where they are emptied in their turn: so nothing is ever deep. */
static int empty_into(int top, const char *name, uint64_t *number)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    FD_AT_END int fd = -1;
    if (fchmodat(top, name, 0700, 0) < 0 || (fd = beneath_open_child(top, name)) < 0)
        return -errno;
    int r = git_file_list(fd, &names);
    /* Of more names than fit the rest is seen next time. */
    for (size_t at = 0; (r == 0 || r == -E2BIG) && at < names.len;
         at += strlen(names.data + at) + 1) {
        const char *inside = names.data + at;
        char fresh[32];
        if (unlinkat(fd, inside, 0) == 0 || unlinkat(fd, inside, AT_REMOVEDIR) == 0)
            continue;
        /* A folder can be moved only by who may write in it. */
        if (fchmodat(fd, inside, 0700, 0) < 0)
            return -errno;
        int moved;
        /* One who was killed at this may have left such names. */
        do {
            snprintf(fresh, sizeof fresh, "removed-%llu", (unsigned long long)++*number);
            moved = renameat2(fd, inside, top, fresh, RENAME_NOREPLACE);
        } while (moved < 0 && errno == EEXIST);
        if (moved < 0)
            return -errno;
    }
    return r == -E2BIG ? 0 : r;
}

static int empty_names(int dir, const struct buf *names, uint64_t *number)
{
    for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
        const char *name = names->data + at;
        if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
            continue;
        int r = empty_into(dir, name, number);
        if (r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY)
            r = -errno;
        if (r < 0)
            return r;
    }
    return 0;
}

int git_file_empty(int dir)
{
    uint64_t number = 0;
    for (;;) {
        BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
        int r = git_file_list(dir, &names);
        if ((r < 0 && r != -E2BIG) || names.len == 0)
            return r;
        r = empty_names(dir, &names, &number);
        if (r < 0)
            return r;
    }
}
