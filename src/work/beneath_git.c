/* A git directory by any name: git takes a folder that holds HEAD, objects and refs for one. What is in it can make the
 * user's next git command run a program, so tools change nothing in it, and make none. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/guard_pattern.h"
#include "work/beneath_walk.h"

/* Somebody renames folders all the time. */
#define TRIES 32

struct look {
    const struct beneath_root *root;
    const char *path; /* without links */
    int *error; /* set when something could not be looked at for want of descriptors or memory */
};

/* `n` bytes of the path are the folder. */
static bool has(const struct look *look, size_t n, const char *name)
{
    char text[BENEATH_REAL_MAX + 16];
    snprintf(text, sizeof text, "%.*s%s%s", (int)n, look->path, n ? "/" : "", name);
    int fd = -1;
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < TRIES; i++)
        fd = beneath_open_at(look->root->fd, text, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    if (fd >= 0)
        close(fd);
    else if (err_is_shortage(errno))
        *look->error = errno;
    /* What cannot be looked at may be there. */
    return fd >= 0 || !(errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ||
                        errno == ELOOP || errno == EXDEV);
}

/* Whether a folder is a git directory, or would be with `next` in it. HEAD is looked for first: few folders have one. */
static bool is_git_directory(const struct look *look, size_t n, struct str next)
{
    if (!str_is(next, "HEAD") && !has(look, n, "HEAD"))
        return false;
    /* Objects and refs, or where they are instead. */
    if (str_is(next, "commondir") || has(look, n, "commondir"))
        return true;
    return (str_is(next, "objects") || has(look, n, "objects")) &&
           (str_is(next, "refs") || has(look, n, "refs"));
}

static bool is_in(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool beneath_is_git_part(const char *name)
{
    static const char *const parts[] = {"HEAD", "objects", "refs", "commondir"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strcmp(name, parts[i]) == 0)
            return true;
    }
    return false;
}

bool beneath_made_git(const struct beneath_root *root, int dir, const char *name)
{
    if (!beneath_is_git_part(name) || !guard_protects_git(root->guard) || !is_in(dir, "HEAD"))
        return false;
    return is_in(dir, "commondir") || (is_in(dir, "objects") && is_in(dir, "refs"));
}

int beneath_refuse_git(const char *path, struct err *err)
{
    struct beneath_real real = {.text = path, .verdict = GUARD_PROTECTED, .rule = ".git"};
    return beneath_refuse(&real, path, err);
}

bool beneath_is_in_git(const struct beneath_root *root, const char *path, bool carries,
                       int *ret_error)
{
    const struct look look = {root, path, ret_error};
    struct str whole = {path, strlen(path)};
    struct str name;
    size_t before = 0;
    if (str_is(whole, "."))
        return false;
    for (size_t at = 0; guard_next_name(whole, &at, &name); before = at - 1) {
        if (is_git_directory(&look, before, name))
            return true;
    }
    return carries && is_git_directory(&look, whole.n, (struct str){0});
}
