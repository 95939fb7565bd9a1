/* A git directory by any name: git takes a folder that holds HEAD, objects and refs for one. What is in it can make the
 * user's next git command run a program, so tools change nothing in it, and make none. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "work/beneath_walk.h"

/* What cannot be looked at may be there. */
static bool may_be_in_dir(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* HEAD is looked for first: few folders have one. */
bool beneath_is_git_directory(int dir, struct str next)
{
    if (!str_is(next, "HEAD") && !may_be_in_dir(dir, "HEAD"))
        return false;
    /* Objects and refs, or where they are instead. */
    if (str_is(next, "commondir") || may_be_in_dir(dir, "commondir"))
        return true;
    return (str_is(next, "objects") || may_be_in_dir(dir, "objects")) &&
           (str_is(next, "refs") || may_be_in_dir(dir, "refs"));
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
    return beneath_is_git_part(name) && guard_protects_git(root->guard) &&
           beneath_is_git_directory(dir, (struct str){0});
}

int beneath_refuse_git(const char *path, struct err *err)
{
    struct beneath_real real = {.text = path, .verdict = GUARD_PROTECTED, .rule = ".git"};
    return beneath_refuse(&real, path, err);
}
