#include "work/guard_reopen.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "work/beneath_walk.h"

void guard_reopen_prepare(struct guard_root *at, int root)
{
    if (at->folder < 0)
        at->folder = beneath_open_at(root, ".", O_RDONLY | O_DIRECTORY, 0, 0);
}

/* The worker may not set the setgid bit, so a folder loses it here. */
bool guard_reopen(struct guard_root *at)
{
    struct stat st;
    if (at->folder < 0 || fstat(at->folder, &st) < 0 || (st.st_mode & 0500) == 0500 ||
        fchmod(at->folder, (st.st_mode & 01777) | 0700) < 0)
        return false;
    at->opened = true;
    return true;
}

void guard_reopen_all(struct guard_trees *trees)
{
    if (!trees)
        return;
    pthread_mutex_lock(&trees->lock);
    for (size_t i = 0; i < ROOTS_MAX; i++)
        guard_reopen(&trees->roots[i]);
    pthread_mutex_unlock(&trees->lock);
}
