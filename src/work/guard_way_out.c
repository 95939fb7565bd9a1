/* The first link by which a path leaves its root. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/beneath_walk.h"
#include "work/guard_follow.h"
#include "work/guard_read.h"

struct way_out {
    const struct beneath_root *root;
    int links;
    char at[PATH_TEXT_MAX]; /* how far it has gone, without links; "": the root */
    char rest[2 * PATH_TEXT_MAX];
};

/* False: it is above the root then. */
static bool go_up_way(struct way_out *w)
{
    char *slash = strrchr(w->at, '/');
    bool inside = w->at[0] != '\0';
    *(slash ? slash : w->at) = '\0';
    return inside;
}

static size_t named_root(const struct way_out *w, const char *target)
{
    struct str text = {target, strlen(target)};
    return path_named(text, w->root->host, w->root->inside, w->root->also);
}

/* Whether a target that begins in the folder at hand stays in the root, as far as its text tells. */
static bool stays(const struct way_out *w, const char *target)
{
    if (target[0] == '/')
        return named_root(w, target) > 0;
    int depth = w->at[0] != '\0';
    for (const char *at = w->at; *at; at++)
        depth += *at == '/';
    for (size_t n; depth >= 0 && *target; target += n + strspn(target + n, "/")) {
        n = strcspn(target, "/");
        if (n == 2 && memcmp(target, "..", 2) == 0)
            depth--;
        else if (n > 1 || target[0] != '.')
            depth++;
    }
    return depth >= 0;
}

/* 1: the link leads out; 0: it was followed; -1: that is too far. */
static int follow_link_on_way(struct way_out *w, int link)
{
    char target[PATH_TEXT_MAX];
    char rest[2 * PATH_TEXT_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target - 1);
    if (n <= 0 || ++w->links > BENEATH_LINKS_MAX)
        return -1;
    target[n] = '\0';
    if (!stays(w, target))
        return 1;
    const char *text = target;
    if (target[0] == '/') {
        text += named_root(w, target);
        w->at[0] = '\0';
    }
    if (snprintf(rest, sizeof rest, "%s/%s", text, w->rest) >= (int)sizeof rest)
        return -1;
    memcpy(w->rest, rest, strlen(rest) + 1);
    return 0;
}

/* 1: `link` is the one; 0: one name further; -1: there is none. */
static int step_way_out(struct way_out *w, char link[PATH_TEXT_MAX], struct statx *st)
{
    char name[PATH_NAME_MAX + 1];
    if (path_take_name(w->rest, name) <= 0)
        return -1;
    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return go_up_way(w) ? 0 : -1;
    int n = snprintf(link, PATH_TEXT_MAX, "%s%s%s", w->at, w->at[0] ? "/" : "", name);
    if (n >= PATH_TEXT_MAX)
        return -1;
    FD_AT_END int fd = beneath_open_at(w->root->fd, link, O_PATH | O_NOFOLLOW, 0, 0);
    if (fd < 0 || folder_stat(fd, "", st) < 0)
        return -1;
    if (S_ISLNK(st->stx_mode))
        return follow_link_on_way(w, fd);
    memcpy(w->at, link, (size_t)n + 1);
    return 0;
}

void follow_way_out(struct following *f, const char *path, uint8_t kind)
{
    char link[PATH_TEXT_MAX];
    struct statx st;
    struct way_out w = {.root = &f->root};
    snprintf(w.rest, sizeof w.rest, "%s", path);
    int r;
    do
        r = step_way_out(&w, link, &st);
    while (r == 0);
    /* What a user's link led to, or a git directory, is the agent's choice by then: it does not stay. */
    if (r > 0)
        follow_add(f, (struct str){link, strlen(link)},
                   kind == GUARDED_SECRET ? kind : GUARDED_PART, &st);
}
