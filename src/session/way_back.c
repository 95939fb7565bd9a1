#include "session/way_back.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/spec.h"

#define LINKS_MAX 40

struct walk {
    const struct cell_root *roots;
    size_t count;
    int at;       /* O_PATH */
    bool outside; /* of the folder that it began in */
    int links;
    char rest[PATH_TEXT_MAX]; /* still to go */
};

/* Commands run in some roots only; a folder may be two of them. */
static bool find_root(const struct walk *w, size_t *ret)
{
    bool found = false;
    for (size_t i = 0; i < w->count; i++) {
        const struct cell_root *root = &w->roots[i];
        if (root->store || !spec_is_root(root, w->at))
            continue;
        if (!found || root->commands)
            *ret = i;
        found = true;
        if (root->commands)
            break;
    }
    return found;
}

static bool walk_to(struct walk *w, int fd)
{
    fd_closep(&w->at);
    w->at = fd;
    return fd >= 0;
}

static bool go_to_top(struct walk *w)
{
    w->outside = true;
    return walk_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool follow_walk_link(struct walk *w, int link)
{
    char target[PATH_TEXT_MAX];
    char rest[PATH_TEXT_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target - 1);
    if (n <= 0 || ++w->links > LINKS_MAX)
        return false;
    target[n] = '\0';
    const char *behind = w->rest + strspn(w->rest, "/");
    int length = snprintf(rest, sizeof rest, "%s%s%s", target, *behind ? "/" : "", behind);
    if (length >= (int)sizeof rest)
        return false;
    memcpy(w->rest, rest, (size_t)length + 1);
    return target[0] != '/' || go_to_top(w);
}

/* Its own `..` leads out of a root. */
static void note_leaving(struct walk *w)
{
    size_t root;
    if (find_root(w, &root))
        w->outside = true;
}

/* A name in a folder of an automounter can be any machine of the network, and this process would wait for it: there, only what
 * is mounted already counts. */
static int open_walk_name(const struct walk *w, const char *name)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC};
    struct statfs fs;
    if (fstatfs(w->at, &fs) == 0 && fs.f_type == AUTOFS_SUPER_MAGIC)
        how.resolve = RESOLVE_CACHED;
    int fd = (int)syscall(SYS_openat2, w->at, name, &how, sizeof how);
    /* A filter around this process may lack the call, see base/resolve.h. */
    if (fd < 0 && errno == ENOSYS && !how.resolve)
        fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

/* False: it leads nowhere, or that cannot be said. */
static bool take_walk_name(struct walk *w, const char *name)
{
    struct stat st;
    if (strcmp(name, "..") == 0)
        note_leaving(w);
    FD_AT_END int fd = open_walk_name(w, name);
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (S_ISLNK(st.st_mode))
        return follow_walk_link(w, fd);
    return S_ISDIR(st.st_mode) && walk_to(w, TAKE_FD(fd));
}

static bool is_back(struct walk *w, size_t *ret_root, char rest[PATH_TEXT_MAX])
{
    if (!w->outside || !find_root(w, ret_root))
        return false;
    const char *left = w->rest + strspn(w->rest, "/");
    snprintf(rest, PATH_TEXT_MAX, "%s", *left ? left : ".");
    return true;
}

bool way_back(const struct cell_root *roots, size_t count, size_t from, const char *path,
              unsigned *names, size_t *ret_root, char rest[PATH_TEXT_MAX])
{
    char name[PATH_NAME_MAX + 1];
    struct walk w = {.roots = roots, .count = count, .at = -1};
    bool found = false;
    bool whole = snprintf(w.rest, sizeof w.rest, "%s", path) < (int)sizeof w.rest;
    bool going = whole &&
                 (path[0] == '/'
                      ? go_to_top(&w)
                      : walk_to(&w, open(roots[from].host, O_PATH | O_DIRECTORY | O_CLOEXEC)));
    while (going && !(found = is_back(&w, ret_root, rest))) {
        going = *names > 0 && path_take_name(w.rest, name) > 0 && take_walk_name(&w, name);
        *names -= *names > 0;
    }
    fd_closep(&w.at);
    return found;
}
