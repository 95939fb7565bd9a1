#include "cell/aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cell/plan.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define MOUNTINFO_MAX (8u << 20)

/* A line of mountinfo: "36 25 8:1 ROOT POINT …". The device and the path in its file system are the same for all names
 * that a folder has. */
struct line {
    uint64_t id;
    char *device;
    char *root;
    char *point;
};

struct lines {
    struct line *all;
    size_t n;
};

static int failed(struct err *err, const char *what, const char *path)
{
    return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE), "%s %.200s: %s", what, path,
                   strerror(errno));
}

/* A space, a tab, a line end and a backslash are written as \ooo. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *at = text; *at; out++) {
        bool octal = at[0] == '\\' && at[1] && at[2] && at[3];
        *out = octal ? (char)(((at[1] & 3) << 6) | ((at[2] & 7) << 3) | (at[3] & 7)) : *at;
        at += octal ? 4 : 1;
    }
    *out = '\0';
}

static bool read_line(char *text, struct line *ret)
{
    char *next = text;
    char *field[5];
    for (size_t i = 0; i < ARRAY_LEN(field); i++) {
        field[i] = strsep(&next, " ");
        if (!field[i])
            return false;
    }
    *ret = (struct line){strtoull(field[0], NULL, 10), field[2], field[3], field[4]};
    unescape(ret->root);
    unescape(ret->point);
    return true;
}

/* The lines point into `text`. */
static int read_lines(struct buf *text, struct lines *ret, struct err *err)
{
    FD_AT_END int fd = open(MOUNTINFO, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        if (buf_reserve(text, 4096) < 0)
            return err_set(err, ERR_SANDBOX_UNAVAILABLE, "there are too many mounts");
        n = read(fd, text->data + text->len, text->cap - text->len);
        text->len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 || buf_add_char(text, '\0') < 0)
        return failed(err, "reading", MOUNTINFO);
    char *next = text->data;
    for (char *at; (at = strsep(&next, "\n"));) {
        struct line line;
        if (!read_line(at, &line))
            continue;
        ret->all = mem_grow(ret->all, ret->n + 1, sizeof *ret->all);
        ret->all[ret->n++] = line;
    }
    return 0;
}

/* The mount that a folder of the cell is. */
static int find_own(const struct lines *lines, const char *inside, const struct line **ret,
                    struct err *err)
{
    struct statx st;
    if (statx(AT_FDCWD, inside, 0, STATX_MNT_ID, &st) < 0)
        return failed(err, "looking at", inside);
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->all[i].id == st.stx_mnt_id) {
            *ret = &lines->all[i];
            return 0;
        }
    }
    errno = ENOENT;
    return failed(err, "finding the mount of", inside);
}

static int cover_one(const char *path)
{
    FD_AT_END int tree = open_tree(AT_FDCWD, PLAN_HIDDEN_FOLDER,
                                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree < 0 || move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno
                                                                                         : 0;
}

/* Where a folder on the way is closed to the cell's user, that one is covered: it could be opened later. */
static int cover(const char *path, struct err *err)
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
    return failed(err, "covering", path);
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
static bool holds_own(const struct line *const *own, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (path_rest(own[i]->point, path))
            return true;
    }
    return false;
}

static bool is_in_own(const struct line *const *own, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (path_rest(path, own[i]->point))
            return true;
    }
    return false;
}

/* Where `folder` is seen through `other`, which is no part of it; NULL: nowhere. */
static char *seen_through(const struct line *folder, const struct line *other)
{
    if (strcmp(folder->device, other->device) != 0)
        return NULL;
    if (path_rest(other->root, folder->root))
        return is_needed(other->point) ? NULL : mem_dup(other->point);
    const char *rest = path_rest(folder->root, other->root);
    return rest ? mem_format("%s/%s", strcmp(other->point, "/") == 0 ? "" : other->point, rest)
                : NULL;
}

static int cover_others(const struct lines *lines, const struct line *const *own, size_t n,
                        struct err *err)
{
    for (size_t k = 0; k < lines->n; k++) {
        const struct line *other = &lines->all[k];
        for (size_t i = 0; i < n && !is_in_own(own, n, other->point); i++) {
            FREE_AT_END char *path = seen_through(own[i], other);
            /* At its own path a folder is what is seen there already. */
            if (path && !is_in_own(own, n, path) && cover(path, err) < 0)
                return -1;
        }
    }
    return 0;
}

int aliases_cover(const struct cell_spec *spec, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(MOUNTINFO_MAX);
    struct lines lines = {0};
    const struct line *own[ROOTS_MAX];
    size_t n = 0;
    int r = read_lines(&text, &lines, err);
    for (size_t i = 0; r == 0 && i < spec->n_roots; i++) {
        if (spec->roots[i].commands)
            r = find_own(&lines, spec->roots[i].inside, &own[n++], err);
    }
    if (r == 0)
        r = cover_others(&lines, own, n, err);
    for (size_t i = 0; r == 0 && i < spec->n_hidden; i++) {
        if (!holds_own(own, n, spec->hidden[i]) && !is_in_own(own, n, spec->hidden[i]))
            r = cover(spec->hidden[i], err);
    }
    free(lines.all);
    return r;
}
