#include "cell/aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/failed.h"
#include "cell/mountinfo.h"
#include "cell/plan.h"

/* The mount that a folder of the cell is. */
static int find_own(const struct mountinfo *lines, const char *inside,
                    const struct mountinfo_line **ret, struct err *err)
{
    errno = -mountinfo_of(lines, inside, ret);
    return errno ? cell_failed_at(err, "finding the mount of", inside) : 0;
}

static int cover_one(const char *path)
{
    FD_AT_END int tree = open_tree(AT_FDCWD, PLAN_HIDDEN_FOLDER,
                                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree < 0 || move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno
                                                                                         : 0;
}

/* Where a folder on the way is closed to the cell's user, that one is covered: it could be opened later. */
static int cover_alias(const char *path, struct err *err)
{
    FREE_AT_END char *at = mem_dup(path);
    int r = cover_one(at);
    for (char *slash; r == -EACCES && (slash = strrchr(at, '/')) > at;) {
        *slash = '\0';
        r = cover_one(at);
    }
    /* It is not there, or another mount lies over the way to it. */
    if (r == 0 || r == -ENOENT || r == -ENOTDIR)
        return 0;
    errno = -r;
    return cell_failed_at(err, "covering", path);
}

/* Without these no program runs. They stay where the folder is one of them or contains it. */
static bool is_needed(const char *point)
{
    for (const char *const *at = plan_system_paths; *at; at++) {
        if (strcmp(*at, point) == 0)
            return strcmp(point, "/opt") != 0;
    }
    return false;
}

/* Such a folder is empty here but for what commands have of it. */
static bool holds_own(const struct mountinfo_line *const *own, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (path_rest(own[i]->point, path))
            return true;
    }
    return false;
}

static bool is_in_own(const struct mountinfo_line *const *own, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (path_rest(path, own[i]->point))
            return true;
    }
    return false;
}

/* Where `folder` is seen through `other`, which is no part of it; NULL: nowhere. */
static char *seen_through(const struct mountinfo_line *folder, const struct mountinfo_line *other)
{
    if (strcmp(folder->device, other->device) != 0)
        return NULL;
    if (path_rest(other->root, folder->root))
        return is_needed(other->point) ? NULL : mem_dup(other->point);
    const char *rest = path_rest(folder->root, other->root);
    return rest ? mem_format("%s/%s", strcmp(other->point, "/") == 0 ? "" : other->point, rest)
                : NULL;
}

static int cover_others(const struct mountinfo *lines, const struct mountinfo_line *const *own,
                        size_t n, struct err *err)
{
    for (size_t k = 0; k < lines->n; k++) {
        const struct mountinfo_line *other = &lines->all[k];
        for (size_t i = 0; i < n && !is_in_own(own, n, other->point); i++) {
            FREE_AT_END char *path = seen_through(own[i], other);
            /* At its own path a folder is what is seen there already. */
            if (path && !is_in_own(own, n, path) && cover_alias(path, err) < 0)
                return -1;
        }
    }
    return 0;
}

int aliases_cover(const struct cell_spec *spec, struct err *err)
{
    struct mountinfo lines;
    const struct mountinfo_line *own[ROOTS_MAX];
    size_t n = 0;
    int r = mountinfo_read(-1, &lines);
    if (r < 0) {
        errno = -r;
        r = cell_failed_at(err, "reading", "/proc/self/mountinfo");
    }
    for (size_t i = 0; r == 0 && i < spec->n_roots; i++) {
        if (spec->roots[i].commands)
            r = find_own(&lines, spec->roots[i].inside, &own[n++], err);
    }
    if (r == 0)
        r = cover_others(&lines, own, n, err);
    for (size_t i = 0; r == 0 && i < spec->n_hidden; i++) {
        if (!holds_own(own, n, spec->hidden[i]) && !is_in_own(own, n, spec->hidden[i]))
            r = cover_alias(spec->hidden[i], err);
    }
    mountinfo_done(&lines);
    return r;
}
