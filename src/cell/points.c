#include "cell/points.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/failed.h"

#define POINTS_OPTIONS "size=1m,nr_inodes=65536,mode=755"
#define NAME_MAX_BYTES 64

/* A part of the machine's own places is no mount of its own, and each command's own /proc lies over all else there. */
static bool is_in_system(const char *path)
{
    if (path_rest(path, "/proc"))
        return true;
    for (const char *const *at = plan_system_paths; *at; at++) {
        if (path_rest(path, *at))
            return true;
    }
    return false;
}

/* What lies in another one goes along with it. */
static void list_folders(const struct cell_spec *spec, struct mounts_kept *ret)
{
    struct mounts_kept all = {.n = 0};
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (spec->roots[i].commands)
            all.path[all.n++] = spec->roots[i].inside;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        /* Nothing lies in a file that would have to be covered. */
        if (!is_in_system(spec->shown[i]) && !spec->shown_is_file[i])
            all.path[all.n++] = spec->shown[i];
    }
    ret->n = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (!mounts_is_within_another(&all, i))
            ret->path[ret->n++] = all.path[i];
    }
}

static void point_name(char out[NAME_MAX_BYTES], int64_t number, size_t which)
{
    snprintf(out, NAME_MAX_BYTES, PLAN_POINTS "/%" PRId64 ".%zu", number, which);
}

static const char *name_of_point(const char *name)
{
    return name + sizeof PLAN_POINTS;
}

int points_init(struct points *points, const struct cell_spec *spec)
{
    struct mounts_kept folders;
    list_folders(spec, &folders);
    *points = (struct points){.folder = -1, .each = folders.n};
    if (mounts_sealed(PLAN_POINTS, POINTS_OPTIONS) < 0)
        return -1;
    points->folder = mounts_open_writable(PLAN_POINTS);
    return points->folder < 0 ? -1 : 0;
}

void points_remove(struct points *points, int64_t number)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < points->each; i++) {
        point_name(name, number, i);
        if (unlinkat(points->folder, name_of_point(name), AT_REMOVEDIR) < 0 && errno != ENOENT)
            _exit(1);
    }
}

int64_t points_make(struct points *points)
{
    char name[NAME_MAX_BYTES];
    int64_t number = (int64_t)++points->last;
    for (size_t i = 0; i < points->each; i++) {
        point_name(name, number, i);
        if (mkdirat(points->folder, name_of_point(name), 0) < 0) {
            int error = errno;
            points_remove(points, number);
            return -error;
        }
    }
    return number;
}

static int move(int from, int to)
{
    return move_mount(from, "", to, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static int open_point_folder(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The point is a mount of its own, at the folder's path; what was there is mounted on it again. */
static int use_point(const char *path, const char *point, struct err *err)
{
    struct stat st;
    FD_AT_END int folder = open_point_folder(path);
    /* A folder that was removed cannot be moved, and is not in a /tmp that was made since; nothing is in it that would
     * have to be covered. */
    if (folder < 0 ? errno == ENOENT : fstat(folder, &st) == 0 && st.st_nlink == 0)
        return 0;
    FD_AT_END int stage = open_point_folder(MOUNTS_STAGE);
    FD_AT_END int tree = open_tree(AT_FDCWD, point, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (folder < 0 || stage < 0 || tree < 0 || move(folder, stage) < 0)
        return cell_failed_at(err, "mounting", path);
    FD_AT_END int beneath = open_point_folder(path);
    if (beneath < 0 || move(tree, beneath) < 0)
        return cell_failed_at(err, "mounting", path);
    /* The same descriptor: it is a root of a mount, wherever that is. */
    return move(folder, tree) < 0 ? cell_failed_at(err, "mounting", path) : 0;
}

int points_use(const struct cell_spec *spec, int64_t number, const char *in, struct err *err)
{
    struct mounts_kept folders;
    char point[NAME_MAX_BYTES];
    list_folders(spec, &folders);
    for (size_t i = 0; i < folders.n; i++) {
        point_name(point, number, i);
        if (path_rest(folders.path[i], in) && use_point(folders.path[i], point, err) < 0)
            return -1;
    }
    return 0;
}
