#include "cell/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/overlay.h"

static int mount_failed(struct err *err, const char *what, const char *path)
{
    return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE), "%s%s%s: %s", what,
                   *path ? " " : "", path, strerror(errno));
}

static int take_tree(int at, const char *in, const char *path, bool readonly, int userns_fd,
                     int *ret_tree, struct err *err)
{
    /* Recursive, because a user namespace may not look beneath the mounts it was given. */
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    FD_AT_END int tree = open_tree(at, in, *in ? flags : flags | AT_EMPTY_PATH);
    if (tree < 0)
        return mount_failed(err, "taking a copy of", path);
    /* A copy of a shared mount is its peer: what is mounted in the cell would appear on the host (root
     * takes its trees in the host's own mount namespace), and the other way. */
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                              .propagation = MS_PRIVATE};
    if (readonly)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (userns_fd >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (uint64_t)userns_fd;
    }
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
        return userns_fd < 0
                   ? mount_failed(err, "restricting", path)
                   : err_set(
                         err, ERR_SANDBOX_UNAVAILABLE,
                         "mapping the owners of %s: %s; its file system may not know owner mapping: "
                         "give the folder to a user with chown, or run as a user",
                         path, strerror(errno));
    *ret_tree = TAKE_FD(tree);
    return 0;
}

int mounts_copy(int at, const char *in, const char *path, bool readonly, int *ret_tree,
                struct err *err)
{
    return take_tree(at, in, path, readonly, -1, ret_tree, err);
}

int mounts_take_tree(const char *path, bool readonly, int userns_fd, int *ret_tree, struct err *err)
{
    return take_tree(AT_FDCWD, path, path, readonly, userns_fd, ret_tree, err);
}

/* The folder is opened once and without links: who can write in the workspace meanwhile must not choose
 * what is laid over what. */
static int pin(const struct step *step, struct err *err)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    FD_AT_END int fd = (int)syscall(SYS_openat2, AT_FDCWD, step->to, &how, sizeof how);
    FD_AT_END int tree = -1;
    if (fd < 0)
        return mount_failed(err, "opening", step->to);
    if (take_tree(fd, "", step->to, step->readonly, -1, &tree, err) < 0)
        return -1;
    return move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
               ? mount_failed(err, "protecting", step->to)
               : 0;
}

int mounts_check_identity(int tree, const struct cell_root *root, struct err *err)
{
    if (!spec_is_root(root, tree))
        return err_set(err, ERR_SANDBOX_UNAVAILABLE,
                       "the folder %s was replaced while the sandbox was being made", root->host);
    return 0;
}

static int take_device(const char *path, int *ret_tree, struct err *err)
{
    FD_AT_END int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                              .propagation = MS_PRIVATE};
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
        return mount_failed(err, "taking a copy of", path);
    *ret_tree = TAKE_FD(tree);
    return 0;
}

static int take_mount_slot(const struct step *step, const struct cell_spec *spec,
                           struct trees *trees, int *slots, struct err *err)
{
    int *before = step->root >= 0    ? &trees->root[step->root]
                  : step->shown >= 0 ? &trees->shown[step->shown]
                  : step->layer >= 0 ? &trees->layer
                  : step->file >= 0  ? &trees->file[step->file]
                                     : NULL;
    if (before && *before >= 0) {
        slots[step->slot] = TAKE_FD(*before);
        return 0;
    }
    if (step->device)
        return take_device(step->from, &slots[step->slot], err);
    if (mounts_take_tree(step->from, step->readonly, -1, &slots[step->slot], err) < 0)
        return -1;
    const struct cell_root *meant = step->root >= 0    ? &spec->roots[step->root]
                                    : step->layer >= 0 ? &spec->layer
                                                       : NULL;
    return meant ? mounts_check_identity(slots[step->slot], meant, err) : 0;
}

static int make_mount_folders(const char *path, struct err *err)
{
    char partial[PATH_TEXT_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof partial) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return mount_failed(err, "making", path);
    }
    memcpy(partial, path, length + 1);
    for (char *at = partial + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(partial, 0755) < 0 && errno != EEXIST)
            return mount_failed(err, "making", partial);
        *at = '/';
    }
    if (mkdir(partial, 0755) < 0 && errno != EEXIST)
        return mount_failed(err, "making", partial);
    return 0;
}

static int make_tmpfs(const char *at, struct err *err)
{
    /* It holds a few empty folders and is sealed before anything runs in it. */
    if (mount("sandgate", at, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=8192,mode=755") < 0)
        return mount_failed(err, "mounting a tmpfs on", at);
    return chdir(at) < 0 ? mount_failed(err, "entering", at) : 0;
}

int mounts_scratch(const char *at, uint64_t bytes, const char *mode, struct err *err)
{
    char options[96];
    /* Empty files and attributes take memory too, which `size` does not bound: one KiB for each inode. */
    snprintf(options, sizeof options, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%s", bytes,
             bytes / 1024, mode);
    return mount("sandgate", at, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0
               ? mount_failed(err, "mounting a tmpfs on", at)
               : 0;
}

bool mounts_is_within_another(const struct mounts_kept *kept, size_t which)
{
    for (size_t i = 0; i < kept->n; i++) {
        const char *rest = i == which ? NULL : path_rest(kept->path[which], kept->path[i]);
        if (rest && (*rest || i < which))
            return true;
    }
    return false;
}

/* Where the path of `at` is made before that is mounted: `base` is there for now. */
static int staged_path(const char *base, const char *at, const char *path, char ret[PATH_TEXT_MAX],
                       struct err *err)
{
    if (snprintf(ret, PATH_TEXT_MAX, "%s%s", base, path + strlen(at)) < PATH_TEXT_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return mount_failed(err, "making", path);
}

static int make_scratch_links(const char *base, const char *at, const struct mounts_kept *kept,
                              struct err *err)
{
    char path[PATH_TEXT_MAX];
    for (size_t i = 0; i < kept->n_links; i++) {
        if (staged_path(base, at, kept->links[i].name, path, err) < 0)
            return -1;
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (make_mount_folders(path, err) < 0)
            return -1;
        *slash = '/';
        if (symlink(kept->links[i].to, path) < 0)
            return mount_failed(err, "linking", path);
    }
    return 0;
}

/* What is done with a mount at `path` and the place that it has on the stage. */
typedef int (*stage_fn)(const char *path, char *staged, struct err *err);

static int make_on_stage(const char *path, char *staged, struct err *err)
{
    (void)path;
    return make_mount_folders(staged, err);
}

/* The first folder on the way to it becomes a read-only mount. */
static int seal_on_stage(const char *path, char *staged, struct err *err)
{
    (void)path;
    FD_AT_END int tree = -1;
    struct statx st;
    char *slash = strchr(staged + sizeof MOUNTS_STAGE, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    if (statx(AT_FDCWD, staged, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
        return 0;
    if (mounts_copy(AT_FDCWD, staged, staged, true, &tree, err) < 0)
        return -1;
    return move_mount(tree, "", AT_FDCWD, staged, MOVE_MOUNT_F_EMPTY_PATH) < 0
               ? mount_failed(err, "protecting", staged)
               : 0;
}

static int move_to_stage(const char *path, char *staged, struct err *err)
{
    return move_mount(AT_FDCWD, path, AT_FDCWD, staged, 0) < 0 ? mount_failed(err, "moving", path)
                                                               : 0;
}

/* What lies in another one goes along with it. */
static int stage_kept(const char *at, const struct mounts_kept *kept, stage_fn fn, struct err *err)
{
    char staged[PATH_TEXT_MAX];
    for (size_t i = 0; i < kept->n; i++) {
        if (mounts_is_within_another(kept, i))
            continue;
        if (staged_path(MOUNTS_STAGE, at, kept->path[i], staged, err) < 0 ||
            fn(kept->path[i], staged, err) < 0)
            return -1;
    }
    return 0;
}

static int remove_old_mount(const char *at, bool old, struct err *err)
{
    return old && umount2(at, MNT_DETACH) < 0 ? mount_failed(err, "unmounting", at) : 0;
}

/* Moved, not copied: thousands of mounts may lie in them. */
int mounts_scratch_around(const char *at, bool old, uint64_t bytes, const char *mode,
                          const struct mounts_kept *kept, struct err *err)
{
    if (kept->n == 0) {
        if (remove_old_mount(at, old, err) < 0 || mounts_scratch(at, bytes, mode, err) < 0)
            return -1;
        return make_scratch_links(at, at, kept, err);
    }
    if (mounts_scratch(MOUNTS_STAGE, bytes, mode, err) < 0 ||
        make_scratch_links(MOUNTS_STAGE, at, kept, err) < 0 ||
        stage_kept(at, kept, make_on_stage, err) < 0 ||
        stage_kept(at, kept, seal_on_stage, err) < 0 ||
        stage_kept(at, kept, move_to_stage, err) < 0 || remove_old_mount(at, old, err) < 0)
        return -1;
    return move_mount(AT_FDCWD, MOUNTS_STAGE, AT_FDCWD, at, 0) < 0
               ? mount_failed(err, "mounting", at)
               : 0;
}

static int set_readonly(int folder, bool readonly)
{
    struct mount_attr attr = {.attr_set = readonly ? MOUNT_ATTR_RDONLY : 0,
                              .attr_clr = readonly ? 0 : MOUNT_ATTR_RDONLY};
    return mount_setattr(folder, "", AT_EMPTY_PATH, &attr, sizeof attr);
}

int mounts_sealed(const char *at, const char *options)
{
    if (mount("sandgate", at, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return -1;
    FD_AT_END int folder = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && set_readonly(folder, true) == 0)
        return 0;
    int error = errno;
    umount2(at, MNT_DETACH);
    errno = error;
    return -1;
}

int mounts_open_writable(const char *at)
{
    FD_AT_END int folder = open_tree(AT_FDCWD, at, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return folder < 0 || set_readonly(folder, false) < 0 ? -1 : TAKE_FD(folder);
}

static int make_mount_file(const char *path, struct err *err)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    return fd < 0 ? mount_failed(err, "making", path) : 0;
}

static int write_mount_text(const char *path, const char *text, struct err *err)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    return fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 ? mount_failed(err, "writing", path)
                                                              : 0;
}

/* A copy of the sealed root's mount is as read-only as that. */
static int cover_with_copy(const char *path, const char *with, struct err *err)
{
    FD_AT_END int tree = open_tree(AT_FDCWD, with, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return mount_failed(err, "taking a copy of", with);
    if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) < 0 &&
        errno != ENOENT && errno != ENOTDIR)
        return mount_failed(err, "covering", path);
    return 0;
}

/* pivot_root(".", ".") stacks the old root on the new one; unmounting it leaves only the new. */
static int pivot(struct err *err)
{
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return mount_failed(err, "changing the root", "");
    if (umount2(".", MNT_DETACH) < 0)
        return mount_failed(err, "leaving the host's tree", "");
    return chdir("/") < 0 ? mount_failed(err, "entering", "/") : 0;
}

static int seal_root(struct err *err)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
    if (mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof attr) < 0)
        return mount_failed(err, "sealing the root", "");
    return 0;
}

static int leave_mount(const char *path, struct err *err)
{
    /* It may have gone with another that it lay in. */
    if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
        return mount_failed(err, "taking away", path);
    return 0;
}

/* Not attached yet. It shows the processes of the pid namespace that this one is in. */
static int make_proc(int *ret_tree, struct err *err)
{
    FD_AT_END int fs = fsopen("proc", FSOPEN_CLOEXEC);
    FD_AT_END int tree = -1;
    if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        tree = fsmount(fs, FSMOUNT_CLOEXEC,
                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (tree < 0)
        return mount_failed(err, "making a /proc", "");
    *ret_tree = TAKE_FD(tree);
    return 0;
}

static int apply_step(struct mounting *m, const struct step *step, struct err *err)
{
    int *slots = m->slots;
    switch (step->kind) {
    case STEP_PRIVATE:
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
                   ? mount_failed(err, "separating the mounts", "")
                   : 0;
    case STEP_CLONE:
        return take_mount_slot(step, m->spec, m->trees, slots, err);
    case STEP_TMPFS:
        return make_tmpfs(step->to, err);
    case STEP_MKDIR:
        return make_mount_folders(step->to, err);
    case STEP_SYMLINK:
        return symlink(step->from, step->to) < 0 ? mount_failed(err, "linking", step->to) : 0;
    case STEP_FILE:
        return make_mount_file(step->to, err);
    case STEP_TEXT:
        return write_mount_text(step->to, step->from, err);
    case STEP_COVER:
        return cover_with_copy(step->to, step->from, err);
    case STEP_CLOSED:
        return mkdir(step->to, 0) < 0 ? mount_failed(err, "making", step->to) : 0;
    case STEP_SCRATCH:
        return mounts_scratch(step->to, step->bytes, "700", err);
    case STEP_ATTACH:
        return move_mount(slots[step->slot], "", AT_FDCWD, step->to, MOVE_MOUNT_F_EMPTY_PATH) < 0
                   ? mount_failed(err, "mounting", step->to)
                   : 0;
    case STEP_PIN:
        return pin(step, err);
    case STEP_PROC:
        return make_proc(&slots[step->slot], err);
    case STEP_KEEP:
        slots[step->slot] = open_tree(AT_FDCWD, step->from,
                                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        return slots[step->slot] < 0 ? mount_failed(err, "taking a copy of", step->from) : 0;
    case STEP_LEAVE:
        return leave_mount(step->to, err);
    case STEP_OVERLAY:
        return overlay_apply(m, step, err);
    case STEP_WORKER:
        return 0;
    case STEP_PIVOT:
        return pivot(err);
    case STEP_SEAL:
        return seal_root(err);
    }
    return err_set(err, ERR_INTERNAL, "unknown step %d", (int)step->kind);
}

void trees_init(struct trees *ret)
{
    for (size_t i = 0; i < ROOTS_MAX; i++)
        ret->root[i] = -1;
    for (size_t i = 0; i < SHOWN_MAX; i++)
        ret->shown[i] = -1;
    ret->layer = -1;
    for (size_t i = 0; i < SPEC_FILES_MAX; i++)
        ret->file[i] = -1;
}

void mounting_init(struct mounting *m, const struct plan *plan, const struct cell_spec *spec,
                   struct trees *trees)
{
    *m = (struct mounting){.plan = plan, .spec = spec, .trees = trees};
    m->slots = mem_grow(NULL, (size_t)plan->slots, sizeof *m->slots);
    for (int i = 0; i < plan->slots; i++)
        m->slots[i] = -1;
}

int mounting_continue(struct mounting *m, struct err *err)
{
    while (m->next < m->plan->count) {
        const struct step *step = &m->plan->steps[m->next++];
        if (step->kind == STEP_WORKER)
            return 0;
        if (apply_step(m, step, err) < 0)
            return -1;
    }
    return 0;
}

void mounting_done(struct mounting *m)
{
    for (int i = 0; i < m->plan->slots; i++)
        fd_closep(&m->slots[i]);
    free(m->slots);
    m->slots = NULL;
    /* Those of folders that are there anyway. */
    for (size_t i = 0; i < ROOTS_MAX; i++)
        fd_closep(&m->trees->root[i]);
    for (size_t i = 0; i < SHOWN_MAX; i++)
        fd_closep(&m->trees->shown[i]);
    fd_closep(&m->trees->layer);
    for (size_t i = 0; i < SPEC_FILES_MAX; i++)
        fd_closep(&m->trees->file[i]);
    overlay_base_done(&m->base);
}

void mounts_look_at_system(struct place places[PLACES_MAX], size_t *ret_count)
{
    size_t n = 0;
    for (; plan_system_paths[n] && n < PLACES_MAX; n++) {
        struct place *place = &places[n];
        struct stat st;
        *place = (struct place){.path = plan_system_paths[n]};
        if (lstat(place->path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            place->kind = PLACE_FOLDER;
        if (!S_ISLNK(st.st_mode))
            continue;
        ssize_t length = readlink(place->path, place->target, sizeof place->target);
        /* One that fills the room may have been cut, and would lead somewhere else. */
        if (length > 0 && (size_t)length < sizeof place->target)
            place->kind = PLACE_LINK;
    }
    *ret_count = n;
}

const char *mounts_staging(void)
{
    static const char *const candidates[] = {"/tmp", "/var/tmp", "/run", "/mnt", "/usr"};
    for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
        struct stat st;
        if (stat(candidates[i], &st) == 0 && S_ISDIR(st.st_mode))
            return candidates[i];
    }
    return NULL;
}
