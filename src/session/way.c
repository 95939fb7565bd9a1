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
};

/* False: the paths are too long, or there are too many links. */
static bool take_link(struct way *w, const char *target)
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

static bool take_name(struct way *w, const char *name, size_t length)
{
    char target[PATH_MAX];
    size_t n = strlen(w->at);
    if (length == 2 && memcmp(name, "..", 2) == 0) {
        char *slash = strrchr(w->at, '/');
        w->at[slash ? slash - w->at : 0] = '\0';
        return true;
    }
    if (n + length + 2 > sizeof w->at)
        return false;
    snprintf(w->at + n, sizeof w->at - n, "/%.*s", (int)length, name);
    ssize_t got = readlink(w->at, target, sizeof target - 1);
    if (got < 0)
        return errno == EINVAL || errno == ENOENT || errno == ENOTDIR;
    target[got] = '\0';
    w->at[n] = '\0';
    return take_link(w, target);
}

bool way_leads_through(const char *path, const char *folder)
{
    struct way w = {.at = ""};
    if (path[0] != '/' || snprintf(w.rest, sizeof w.rest, "%s", path) >= (int)sizeof w.rest)
        return true;
    for (;;) {
        char name[NAME_MAX + 1];
        size_t skip = strspn(w.rest, "/");
        size_t length = strcspn(w.rest + skip, "/");
        if (length == 0)
            return false;
        if (length > NAME_MAX || path_rest(w.at[0] ? w.at : "/", folder))
            return true;
        memcpy(name, w.rest + skip, length);
        memmove(w.rest, w.rest + skip + length, strlen(w.rest + skip + length) + 1);
        bool dot = length == 1 && name[0] == '.';
        if (!dot && !take_name(&w, name, length))
            return true;
    }
}
