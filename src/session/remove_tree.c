#include "session/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* As many folders are open at once. What lies deeper is moved up first. */
#define OPEN_MAX 64

struct removing {
    int top; /* where deep folders are moved to */
    unsigned moved;
};

static int empty_tree_folder(struct removing *r, int dir, unsigned depth);

/* Its modes are those that somebody gave it. */
static int open_to_empty(int dir, const char *name)
{
    char self[64];
    FD_AT_END int look = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (look < 0)
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d", look);
    (void)!chmod(self, 0700);
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int move_up(struct removing *r, int dir, const char *name)
{
    char fresh[32];
    int error;
    do {
        snprintf(fresh, sizeof fresh, "deep-%u", r->moved++);
        error = renameat2(dir, name, r->top, fresh, RENAME_NOREPLACE) < 0 ? -errno : 0;
    } while (error == -EEXIST);
    return error;
}

static int remove_entry(struct removing *r, int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    FD_AT_END int fd = open_to_empty(dir, name);
    if (fd < 0)
        return -errno;
    if (depth == OPEN_MAX)
        return move_up(r, dir, name);
    int error = empty_tree_folder(r, fd, depth + 1);
    return error == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : error;
}

static int empty_tree_folder(struct removing *r, int dir, unsigned depth)
{
    DIR *all = fd_list(dir);
    int error = all ? 0 : -errno;
    for (struct dirent *d; error == 0 && all && (d = fd_list_next(all, &error));) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            error = remove_entry(r, dir, d->d_name, depth);
    }
    if (all)
        closedir(all);
    return error < 0 ? error : -error;
}

int remove_tree(int dir, const char *name)
{
    FD_AT_END int top = open_to_empty(dir, name);
    if (top < 0)
        return errno == ENOENT ? 0 : -errno;
    struct removing r = {.top = top};
    unsigned moved;
    /* What was moved up while the list was read may not be in it. */
    do {
        moved = r.moved;
        int error = empty_tree_folder(&r, top, 0);
        if (error < 0)
            return error;
    } while (r.moved != moved);
    return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
