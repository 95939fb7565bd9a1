#include <string.h>

#include "base/str.h"
#include "cell/limits_parts.h"

static const char *const controllers[LIMIT_KINDS] = {"memory", "pids", "cpu"};

/* Takes what stands before the next `separator`, and that; false at the end. */
static bool next_part(struct str *rest, char separator, struct str *ret)
{
    if (!rest->p)
        return false;
    const char *end = memchr(rest->p, separator, rest->n);
    *ret = (struct str){rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (struct str){end + 1, rest->n - ret->n - 1} : (struct str){NULL, 0};
    return true;
}

static bool has_word(struct str list, const char *word)
{
    struct str part;
    while (next_part(&list, ',', &part)) {
        if (str_is(part, word))
            return true;
    }
    return false;
}

/* mountinfo writes a space, tab, line end and backslash as \ooo. False when it does not fit. */
static bool unescape(struct str s, char out[PATH_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '\\' && s.n - i > 3) {
            c = ((s.p[i + 1] & 3) << 6) | ((s.p[i + 2] & 7) << 3) | (s.p[i + 3] & 7);
            i += 3;
        }
        if (c == 0 || n + 1 == PATH_MAX)
            return false;
        out[n++] = (char)c;
    }
    out[n] = 0;
    return true;
}

struct mount_line {
    struct str root, point, type, options;
};

/* "36 25 0:33 ROOT POINT rw,... [optional fields] - TYPE source OPTIONS"; false for any other, and for
 * what is mounted read-only. */
static bool read_mount(struct str line, struct mount_line *ret)
{
    struct str field;
    struct str skip;
    for (int i = 0; i < 3; i++) {
        if (!next_part(&line, ' ', &skip))
            return false;
    }
    if (!next_part(&line, ' ', &ret->root) || !next_part(&line, ' ', &ret->point) ||
        !next_part(&line, ' ', &field) || has_word(field, "ro"))
        return false;
    do {
        if (!next_part(&line, ' ', &field))
            return false;
    } while (!str_is(field, "-"));
    return next_part(&line, ' ', &ret->type) && next_part(&line, ' ', &skip) &&
           next_part(&line, ' ', &ret->options) && !has_word(ret->options, "ro");
}

/* This process's path in the tree of `controller`, or in cgroup2's when that is NULL. The lines are
 * "ID:CONTROLLERS:PATH". */
static bool own_path(struct str cgroups, const char *controller, struct str *ret)
{
    struct str line;
    struct str id;
    struct str list;
    while (next_part(&cgroups, '\n', &line)) {
        if (!next_part(&line, ':', &id) || !next_part(&line, ':', &list) || !line.p)
            continue;
        if (controller ? has_word(list, controller) : str_is(id, "0") && list.n == 0) {
            *ret = line;
            return line.n > 0 && line.p[0] == '/';
        }
    }
    return false;
}

/* A path above what this cgroup namespace shows begins with "/..", and one whose group is gone ends
 * with a word about that. */
static bool usable(struct str path)
{
    static const char gone[] = " (deleted)";
    size_t n = sizeof gone - 1;
    struct str part;
    if (path.n >= n && memcmp(path.p + path.n - n, gone, n) == 0)
        return false;
    while (next_part(&path, '/', &part)) {
        if (str_is(part, ".."))
            return false;
    }
    return true;
}

/* Where the group `own` is seen in a mount that shows the tree from `root` on. */
static bool locate(const struct mount_line *m, struct str own, struct limits_place *p)
{
    char root[PATH_MAX];
    if (!usable(own) || !unescape(m->root, root) || !unescape(m->point, p->mount))
        return false;
    size_t n = strlen(root);
    if (n > 0 && root[n - 1] == '/')
        n--;
    if (own.n < n || memcmp(own.p, root, n) != 0 || (own.n > n && own.p[n] != '/'))
        return false;
    struct str below = {own.p + n, own.n - n};
    if (str_is(below, "/"))
        below.n = 0;
    size_t top = strlen(p->mount);
    if (memchr(below.p, 0, below.n) || top + below.n >= PATH_MAX)
        return false;
    memcpy(p->own, p->mount, top);
    memcpy(p->own + top, below.p, below.n);
    p->own[top + below.n] = 0;
    return true;
}

/* The first mount that shows this process's group of `controller`. */
static bool find_controller_mount(struct str mountinfo, struct str cgroups, const char *controller,
                                  struct limits_place *p)
{
    struct str own;
    struct str line;
    struct mount_line m;
    if (!own_path(cgroups, controller, &own))
        return false;
    p->v2 = !controller;
    while (next_part(&mountinfo, '\n', &line)) {
        if (!read_mount(line, &m) || !str_is(m.type, controller ? "cgroup" : "cgroup2"))
            continue;
        if ((!controller || has_word(m.options, controller)) && locate(&m, own, p))
            return true;
    }
    return false;
}

void limits_find(struct str mountinfo, struct str cgroups, struct limits_places *ret)
{
    ret->count = 0;
    struct limits_place *p = ret->place;
    if (find_controller_mount(mountinfo, cgroups, NULL, p)) {
        p->kinds = LIMIT_ALL;
        ret->count++;
    }
    size_t first = ret->count;
    for (unsigned kind = 0; kind < LIMIT_KINDS; kind++) {
        p = &ret->place[ret->count];
        if (!find_controller_mount(mountinfo, cgroups, controllers[kind], p))
            continue;
        p->kinds = LIMIT_BIT(kind);
        /* Two kinds in one tree have one group. */
        struct limits_place *same = &ret->place[first];
        while (same < p && strcmp(same->own, p->own) != 0)
            same++;
        if (same < p)
            same->kinds |= p->kinds;
        else
            ret->count++;
    }
}
