#include "work/guard_reopen.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
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

/* The C library's headers may be older than the kernel. The number is the same for all machines. */
#define FCHMODAT2 452

/* Somebody may close it again before it is open. */
#define REOPEN_TRIES 100
/* As many as an answer names. */
#define REOPENED_MAX 1000u

/* With the same path, or moved there. */
static bool was_closed_before(const struct guard_root *at, const struct tree_id *id)
{
    for (uint32_t i = 0; i < at->found.count; i++) {
        if (at->found.items[i].kind == GUARDED_SECRET && at->found.items[i].dated &&
            tree_same_id(&at->found.items[i].id, id))
            return true;
    }
    return false;
}

static void note_reopened(struct guard_root *at, const char *path, const struct tree_id *id)
{
    struct str text = {path, strlen(path)};
    const struct guarded_item item = {.kind = GUARDED_OPENED, .type = TYPE_DIRECTORY, .id = *id};
    if (at->reopened.count < REOPENED_MAX && !guarded_find(&at->reopened, text))
        guarded_insert(&at->reopened, &item, text);
}

/* Through the descriptor: a command can put a link in the folder's place meanwhile. Linux 6.6; with an older kernel the
 * folder stays closed, and is covered as a whole. */
static bool give_rights_back(int folder, mode_t mode)
{
    return syscall(FCHMODAT2, folder, "", (mode & 01777) | 0700, AT_EMPTY_PATH) == 0;
}

int guard_reopen_folder(struct reading *r, uint32_t folder)
{
    struct guard_root *at = r->reopens;
    struct statx st;
    if (!at || folder == 0 || r->tree->folders[folder].flags & TREE_CLOSED)
        return -1;
    FD_AT_END int was = folder_open(r->tree, r->root, folder, r->path, O_PATH);
    if (was < 0 || folder_stat(was, "", &st) < 0 || (st.stx_mode & 0500) == 0500)
        return -1;
    struct tree_id id = folder_id(&st);
    for (int i = 0; i < REOPEN_TRIES && !was_closed_before(at, &id); i++) {
        if (!give_rights_back(was, st.stx_mode))
            return -1;
        FD_AT_END int fd = folder_open(r->tree, r->root, folder, r->path, O_RDONLY);
        if (fd < 0)
            continue;
        if (!fd_same_file(fd, was))
            return -1;
        note_reopened(at, r->path, &id);
        return TAKE_FD(fd);
    }
    return -1;
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
