#include "cell/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define LINKS_MAX 40

/* Puts a link's target in its place; `end` is where the link's own path ends. False where it is none. */
static bool follow_folder_link(char path[PATH_TEXT_MAX], size_t end)
{
    char target[PATH_TEXT_MAX];
    char rest[PATH_TEXT_MAX];
    char whole[3 * PATH_TEXT_MAX];
    memcpy(rest, path + end, strlen(path + end) + 1);
    path[end] = '\0';
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) {
        memcpy(path + end, rest, strlen(rest) + 1);
        return false;
    }
    target[n] = '\0';
    char *slash = strrchr(path, '/');
    *slash = '\0';
    snprintf(whole, sizeof whole, "%s/%s%s", target[0] == '/' ? "" : path, target, rest);
    path_tidy(whole);
    size_t length = strlen(whole);
    if (length >= PATH_TEXT_MAX)
        return false;
    memcpy(path, whole, length + 1);
    return true;
}

/* Whether some link on the way leads out of `beneath`. Apart from its caller, which would touch all its stack as well. */
static NOINLINE bool link_leads_out(const char *cwd, const char *beneath)
{
    char path[PATH_TEXT_MAX];
    size_t length = strlen(cwd);
    if (length >= sizeof path)
        return false;
    memcpy(path, cwd, length + 1);
    path_tidy(path);
    size_t from = path_prefix_length(beneath);
    if (!path_beneath((struct str){path, strlen(path)}, beneath))
        return true;
    for (unsigned links = 0; links < LINKS_MAX; links++) {
        bool followed = false;
        for (size_t end = from; path[end] && !followed;) {
            end += 1 + strcspn(path + end + 1, "/");
            followed = follow_folder_link(path, end);
        }
        if (!followed)
            return false;
        if (!path_beneath((struct str){path, strlen(path)}, beneath))
            return true;
    }
    return false;
}

static int go_to_order_folder(struct str cwd, struct str beneath, char where[PATH_TEXT_MAX])
{
    if (cwd.n == 0 || cwd.p[0] != '/' || cwd.n >= PATH_TEXT_MAX)
        return -EINVAL;
    FREE_AT_END char *path = mem_copy(cwd.p, cwd.n);
    FREE_AT_END char *in = mem_copy(beneath.p, beneath.n);
    if (chdir(path) < 0) {
        int error = errno;
        if (error == ENOENT && access(in, F_OK) < 0)
            return -ESTALE;
        return path_beneath(cwd, in) && link_leads_out(path, in) ? -EXDEV : -error;
    }
    if (!getcwd(where, PATH_TEXT_MAX))
        return errno == ENOENT ? -ESTALE
                               : -EXDEV; /* removed since the cell was made, or out of its sight */
    if (!path_beneath((struct str){where, strlen(where)}, in))
        return -EXDEV;
    path_tidy(path);
    return strcmp(path, where) != 0 ? FOLDER_ELSEWHERE : 0;
}

int folder_enter(const struct order *order, char where[PATH_TEXT_MAX])
{
    struct str pinned = order->pinned;
    int r = go_to_order_folder(order->cwd, order->beneath, where);
    if (r < 0)
        return r;
    if (r == FOLDER_ELSEWHERE && order->as_named)
        return -EMLINK;
    bool same = pinned.n == strlen(where) && memcmp(pinned.p ? pinned.p : "", where, pinned.n) == 0;
    return pinned.p && !same ? -EREMCHG : r;
}
