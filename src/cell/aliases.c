#include "cell/aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    FD_AT_END int tree = open_tree(AT_FDCWD,
                                   S_ISDIR(st.st_mode) ? PLAN_HIDDEN_FOLDER : PLAN_HIDDEN_FILE,
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

/* What is asked for all mounts. */
struct aliases {
    const struct cell_spec *spec;
    struct mountinfo lines;
    const struct mountinfo_line *own[ROOTS_MAX + 1]; /* and what lies beneath an overlay */
    size_t n;
};

static int cover_seen(const struct aliases *a, const struct mountinfo_line *folder,
                      const struct mountinfo_line *other, bool only_shown, struct err *err)
{
    FREE_AT_END char *path = seen_through(folder, other);
    bool shown = !only_shown || (path && path_rest(path, "/opt"));
    for (size_t i = 0; path && !shown && i < a->spec->n_shown; i++)
        shown = path_rest(path, a->spec->shown[i]) != NULL;
    /* At its own path a folder is what is seen there already. */
    return path && shown && !is_in_own(a->own, a->n, path) ? cover_alias(path, err) : 0;
}

/* What is mounted in a folder of the session, and is not a part of that itself. */
static bool is_mounted_in_own(const struct aliases *a, const struct mountinfo_line *line)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct mountinfo_line *own = a->own[i];
        bool part = strcmp(line->device, own->device) == 0 && path_rest(line->root, own->root);
        if (path_rest(line->point, own->point))
            return !part;
    }
    return false;
}

/* A layer of an overlay: what is in it is seen there by another device. `text` is as mountinfo has it. */
static int cover_layer(const struct aliases *a, const struct mountinfo_line *overlay,
                       const char *text, struct err *err)
{
    for (size_t i = 0; i < a->spec->n_roots; i++) {
        const char *host = a->spec->roots[i].host;
        const char *rest = path_rest(host, text);
        if (!a->spec->roots[i].commands || !(rest || path_rest(text, host)))
            continue;
        FREE_AT_END char *root = mem_format("/%s", rest ? rest : "");
        const struct mountinfo_line folder = {.device = overlay->device, .root = root};
        if (cover_seen(a, &folder, overlay, true, err) < 0)
            return -1;
    }
    return 0;
}

/* "lowerdir=/a:/b,upperdir=/c" */
static int cover_layers(const struct aliases *a, const struct mountinfo_line *overlay,
                        struct err *err)
{
    FREE_AT_END char *options = mem_dup(overlay->system);
    char *next = options;
    if (strncmp(options, "overlay ", strlen("overlay ")) != 0)
        return 0;
    for (char *text; (text = strsep(&next, ",:= "));) {
        mountinfo_unescape(text);
        if (text[0] == '/' && cover_layer(a, overlay, text, err) < 0)
            return -1;
    }
    return 0;
}

static int cover_other(const struct aliases *a, const struct mountinfo_line *other, struct err *err)
{
    if (is_in_own(a->own, a->n, other->point))
        return 0;
    for (size_t i = 0; i < a->n; i++) {
        if (cover_seen(a, a->own[i], other, false, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < a->lines.n; i++) {
        if (is_mounted_in_own(a, &a->lines.all[i]) &&
            cover_seen(a, &a->lines.all[i], other, true, err) < 0)
            return -1;
    }
    return cover_layers(a, other, err);
}

int aliases_cover(const struct mounting *mounting, struct err *err)
{
    const struct cell_spec *spec = mounting->spec;
    const struct overlay_base *base = &mounting->base;
    const struct mountinfo_line beneath = {
        .device = base->device, .root = base->root, .point = spec->roots[0].inside};
    struct aliases a = {.spec = spec};
    int r = mountinfo_read(-1, &a.lines);
    if (r < 0) {
        errno = -r;
        r = cell_failed_at(err, "reading", "/proc/self/mountinfo");
    }
    for (size_t i = 0; r == 0 && i < spec->n_roots; i++) {
        if (spec->roots[i].commands)
            r = find_own(&a.lines, spec->roots[i].inside, &a.own[a.n++], err);
    }
    if (base->device)
        a.own[a.n++] = &beneath;
    for (size_t i = 0; r == 0 && i < a.lines.n; i++)
        r = cover_other(&a, &a.lines.all[i], err);
    for (size_t i = 0; r == 0 && i < spec->n_hidden; i++) {
        if (!holds_own(a.own, a.n, spec->hidden[i]) && !is_in_own(a.own, a.n, spec->hidden[i]))
            r = cover_alias(spec->hidden[i], err);
    }
    mountinfo_done(&a.lines);
    return r;
}
