/* A place is judged when a call begins, and used later: when all is written, or another call has let go of the folder. A
 * command can rename folders meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "work/beneath_walk.h"
#include "work/guard_trees.h"
#include "work/work.h"

static bool is_same_folder(int a, int b)
{
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* For a path that is too long for one openat2. */
static int walk_to_parent(const struct beneath_root *root, const char *real, int dir)
{
    struct beneath_root as_named = *root;
    struct beneath_walk w;
    struct beneath_real unused;
    as_named.as_named = true;
    int r = beneath_walk_to(&w, &as_named, real, 0, &unused);
    if (r >= 0)
        r = !is_same_folder(w.dirs[w.depth], dir);
    beneath_walk_done(&w);
    return r;
}

/* 0, 1 when another folder or none is there now, or -errno. */
static int compare_folder(const struct beneath_root *root, const char *real, int dir)
{
    char parent[BENEATH_REAL_MAX] = ".";
    const char *slash = strrchr(real, '/');
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - real), real);
    FD_AT_END int now = beneath_open_at(root->fd, parent, O_PATH | O_DIRECTORY, 0,
                                        RESOLVE_NO_SYMLINKS);
    if (now >= 0)
        return !is_same_folder(now, dir);
    return errno == ENAMETOOLONG ? walk_to_parent(root, real, dir) : -errno;
}

int beneath_still(const struct beneath_root *root, const char *path, const char *real, int dir,
                  struct err *err)
{
    struct beneath_real refused = {.text = real, .verdict = GUARD_PROTECTED, .rule = ".git"};
    int r = compare_folder(root, real, dir);
    if (r < 0 && err_is_shortage(-r))
        return beneath_errno(err, -r, path);
    if (r != 0)
        return 1;
    if (guard_protects_git(root->guard) && beneath_is_in_git(root, real, false, &refused.error))
        return beneath_refuse(&refused, path, err);
    return 0;
}

int beneath_hold(struct work *w, const struct beneath_root *root, const char *real,
                 struct guard_trees **held, struct err *err)
{
    const char *rule;
    struct str path = {real, strlen(real)};
    if (*held || !root->guard ||
        guard_judge_elsewhere(root->guard, path, false, &rule) == GUARD_OPEN)
        return 0;
    return guard_trees_hold(w, held, err);
}
