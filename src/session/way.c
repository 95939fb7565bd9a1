#include "session/way.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"

#define LINKS_MAX 40

struct way {
    char at[PATH_MAX];   /* without links; "": the root of the machine */
    char rest[PATH_MAX]; /* still to go */
    int links;
    way_link_fn fn; /* NULL: nobody is told of links */
    void *arg;
};

/* False: the paths are too long, or there are too many links. */
static bool follow_way_link(struct way *w, const char *target)
{
    char rest[PATH_MAX];
    int n = snprintf(rest, sizeof rest, "%s/%s", target, w->rest);
    if (n >= (int)sizeof rest || ++w->links > LINKS_MAX)
        return false;
    memcpy(w->rest, rest, (size_t)n + 1);
    if (target[0] == '/')
        w->at[0] = '\0';
    return true;
}

static bool take_way_name(struct way *w, const char *name)
{
    char target[PATH_MAX];
    size_t n = strlen(w->at);
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(w->at, '/');
        w->at[slash ? slash - w->at : 0] = '\0';
        return true;
    }
    if (n + strlen(name) + 2 > sizeof w->at)
        return false;
    snprintf(w->at + n, sizeof w->at - n, "/%s", name);
    ssize_t got = readlink(w->at, target, sizeof target - 1);
    if (got < 0)
        return errno == EINVAL || errno == ENOENT || errno == ENOTDIR;
    target[got] = '\0';
    w->at[n] = '\0';
    if (w->fn)
        w->fn(w->arg, w->at[0] ? w->at : "/");
    return follow_way_link(w, target);
}

/* The next name of the way: 1, 0 behind the last, -1 where it cannot be told. */
static int step_way(struct way *w)
{
    char name[PATH_NAME_MAX + 1];
    int r = path_take_name(w->rest, name);
    if (r > 0 && strcmp(name, ".") != 0 && !take_way_name(w, name))
        r = -1;
    return r;
}

static bool begin_way(struct way *w, const char *path)
{
    return path[0] == '/' && snprintf(w->rest, sizeof w->rest, "%s", path) < (int)sizeof w->rest;
}

bool way_leads_through(const char *path, const char *folder)
{
    struct way w = {.at = ""};
    int r = begin_way(&w, path) ? 1 : -1;
    while (r > 0) {
        bool more = w.rest[strspn(w.rest, "/")] != '\0';
        if (more && path_rest(w.at[0] ? w.at : "/", folder))
            return true;
        r = step_way(&w);
    }
    return r < 0;
}

bool way_each_link(const char *path, way_link_fn fn, void *arg)
{
    struct way w = {.at = "", .fn = fn, .arg = arg};
    int r = begin_way(&w, path) ? 1 : -1;
    while (r > 0)
        r = step_way(&w);
    return r == 0;
}
