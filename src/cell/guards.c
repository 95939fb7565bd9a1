#include "cell/guards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/mounts.h"
#include "core/op.h"

#define FOUND_MAX ((size_t)128 << 10)

void guards_init(struct guards *guards)
{
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        buf_init(&guards->found[i], FOUND_MAX);
        guards->known[i] = false;
    }
}

bool guards_complete(const struct guards *guards, const struct cell_spec *spec)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (spec->roots[i].commands && !guards->known[i])
            return false;
    }
    return true;
}

int guards_set(struct guards *guards, size_t root, struct str found)
{
    struct str rest = found;
    struct op_guarded entry;
    int r;
    while ((r = op_guarded_next(&rest, &entry)) > 0)
        continue;
    if (r < 0 || root >= ROOTS_MAX)
        return -1;
    buf_done(&guards->found[root]);
    buf_init(&guards->found[root], FOUND_MAX);
    guards->known[root] = true;
    return buf_add(&guards->found[root], found.p, found.n);
}

static int failed(struct err *err, const char *path)
{
    return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE), "covering %.200s: %s", path,
                   strerror(errno));
}

/* Who can write in the workspace meanwhile must not choose what is covered by what: no links. */
static int open_plain(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static bool is_covered(int fd)
{
    struct statx st;
    return statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int cover(int fd, const struct op_guarded *entry, const char *path, struct err *err)
{
    struct stat st;
    FD_AT_END int tree = -1;
    if (fstat(fd, &st) < 0)
        return failed(err, path);
    /* A mount cannot lie on a link, and a link runs and holds nothing by itself. */
    if (S_ISLNK(st.st_mode))
        return 0;
    bool own = entry->kind == GUARDED_PROTECTED || entry->kind == GUARDED_WAY;
    if (own ? mounts_copy(fd, "", path, entry->kind == GUARDED_PROTECTED, &tree, err) < 0
            : mounts_copy(AT_FDCWD, S_ISDIR(st.st_mode) ? PLAN_HIDDEN_FOLDER : PLAN_HIDDEN_FILE,
                          path, true, &tree, err) < 0)
        return -1;
    return move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
               ? failed(err, path)
               : 0;
}

/* A repository has these; where one is missing, a command could make it. */
static bool is_of_repository(struct str path)
{
    static const char *const made[] = {".git/hooks", ".git/config"};
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        if (path.n == strlen(made[i]) && memcmp(path.p, made[i], path.n) == 0)
            return true;
    }
    return false;
}

static void make_missing(int root, const char *path)
{
    const char *name = strrchr(path, '/');
    if (!is_of_repository((struct str){path, strlen(path)}))
        return;
    FREE_AT_END char *parent = mem_copy(path, (size_t)(name - path));
    FD_AT_END int dir = open_plain(root, parent);
    /* One that is being removed has no HEAD any more. */
    if (dir < 0 || faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (strcmp(name, "/hooks") == 0) {
        mkdirat(dir, "hooks", 0777);
    } else if (strcmp(name, "/config") == 0) {
        int fd = openat(dir, "config", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        fd_closep(&fd);
    }
}

static int guard_one(int root, const struct op_guarded *entry, struct err *err)
{
    FREE_AT_END char *path = mem_copy(entry->path.p, entry->path.n);
    if (entry->kind == GUARDED_MISSING)
        make_missing(root, path);
    FD_AT_END int fd = open_plain(root, path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;
    if (fd < 0)
        return failed(err, path);
    struct op_guarded now = *entry;
    if (entry->kind == GUARDED_MISSING)
        now.kind = GUARDED_PROTECTED;
    return is_covered(fd) ? 0 : cover(fd, &now, path, err);
}

/* What is missing is looked for apart: look(). */
static int guard_found(const struct cell_spec *spec, const struct guards *guards, struct err *err)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        struct str rest = buf_str(&guards->found[i]);
        struct op_guarded entry;
        if (!spec->roots[i].commands || rest.n == 0)
            continue;
        FD_AT_END int root = open(spec->roots[i].inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            return failed(err, spec->roots[i].inside);
        while (op_guarded_next(&rest, &entry) > 0 && entry.kind != GUARDED_MISSING) {
            if (guard_one(root, &entry, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int look_at(const struct cell_spec *spec, size_t root, struct str path, struct stat *ret)
{
    char text[2 * PATH_TEXT_MAX];
    snprintf(text, sizeof text, "%s/%.*s", spec->roots[root].inside, (int)path.n, path.p);
    return lstat(text, ret);
}

/* The folder where a missing path would have to appear: its longest part that is there. */
static struct str nearest_folder(const struct cell_spec *spec, size_t root, struct str path,
                                 struct stat *ret)
{
    for (struct str at = path;;) {
        while (at.n && at.p[at.n - 1] != '/')
            at.n--;
        at.n -= at.n > 0;
        if (at.n == 0 || look_at(spec, root, at, ret) == 0) {
            if (at.n == 0 && look_at(spec, root, at, ret) < 0)
                *ret = (struct stat){0};
            return at;
        }
    }
}

/* Whether the folder of a missing path is there itself. */
static bool add_folder(const struct cell_spec *spec, size_t root, struct str path,
                       struct guards_view *view)
{
    struct stat st;
    struct str parent = path;
    while (parent.n && parent.p[parent.n - 1] != '/')
        parent.n--;
    parent.n -= parent.n > 0;
    /* Most lie in the root itself, or in the same folder as the one before. */
    for (size_t i = view->n_folders; i-- > 0;) {
        const struct str *known = &view->folders[i].path;
        if (view->folders[i].root == root && known->n == parent.n &&
            memcmp(known->p, parent.p, parent.n) == 0)
            return true;
    }
    struct str folder = nearest_folder(spec, root, path, &st);
    for (size_t i = 0; i < view->n_folders; i++) {
        if (view->folders[i].root == root && view->folders[i].path.n == folder.n &&
            memcmp(view->folders[i].path.p, folder.p, folder.n) == 0)
            return folder.n == parent.n;
    }
    if (view->n_folders == GUARDS_WATCHED_MAX) {
        view->too_many = true;
        return true;
    }
    view->folders[view->n_folders].root = (uint32_t)root;
    view->folders[view->n_folders].path = folder;
    view->folders[view->n_folders++].changed = st.st_ctim;
    return folder.n == parent.n;
}

/* What a repository lacks is made, where that can be. */
static bool is_to_be_covered(const struct cell_spec *spec, size_t root, struct str path)
{
    struct stat st;
    return is_of_repository(path) || look_at(spec, root, path, &st) == 0;
}

static int guard_missing(const struct cell_spec *spec, size_t i, const struct op_guarded *entry,
                         struct err *err)
{
    FD_AT_END int root = open(spec->roots[i].inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? failed(err, spec->roots[i].inside) : guard_one(root, entry, err);
}

/* With `err` what is not missing any more is covered. */
static int look(const struct cell_spec *spec, const struct guards *guards, struct guards_view *view,
                struct err *err)
{
    struct stat st;
    *view = (struct guards_view){0};
    clock_gettime(CLOCK_REALTIME_COARSE, &view->looked);
    for (size_t i = 0; i < spec->n_roots; i++) {
        struct str rest = buf_str(&guards->found[i]);
        struct op_guarded entry;
        while (spec->roots[i].commands && op_guarded_next(&rest, &entry) > 0) {
            if (entry.kind != GUARDED_MISSING)
                continue;
            bool there = add_folder(spec, i, entry.path, view);
            if (there && err && is_to_be_covered(spec, i, entry.path) &&
                guard_missing(spec, i, &entry, err) < 0)
                return -1;
            if (there && look_at(spec, i, entry.path, &st) == 0)
                continue;
            if (view->n_missing < GUARDS_WATCHED_MAX) {
                view->missing[view->n_missing].root = (uint32_t)i;
                view->missing[view->n_missing++].path = entry.path;
            }
        }
    }
    return 0;
}

/* A folder's time of change cannot be set back. Its clock is coarse: what changed just before it was looked at may
 * have changed just after as well. */
static bool has_changed(const struct cell_spec *spec, const struct guards_view *view)
{
    const long coarse_ns = 20000000;
    if (view->too_many)
        return true;
    for (size_t i = 0; i < view->n_folders; i++) {
        struct stat st;
        const struct timespec *then = &view->folders[i].changed;
        if (look_at(spec, view->folders[i].root, view->folders[i].path, &st) < 0)
            return true;
        long since = (view->looked.tv_sec - then->tv_sec) * 1000000000 +
                     (view->looked.tv_nsec - then->tv_nsec);
        if (view->looked.tv_sec - then->tv_sec < 2 && since < coarse_ns)
            return true;
        if (st.st_ctim.tv_sec != then->tv_sec || st.st_ctim.tv_nsec != then->tv_nsec)
            return true;
    }
    return false;
}

int guards_mount(const struct cell_spec *spec, const struct guards *guards, struct guards_view *ret,
                 struct err *err)
{
    if (guard_found(spec, guards, err) < 0)
        return -1;
    return look(spec, guards, ret, err);
}

int guards_cover_in_layer(int root, const struct op_guarded *entry, struct err *err)
{
    struct op_guarded now = *entry;
    if (entry->kind == GUARDED_PROTECTED || entry->kind == GUARDED_GIT)
        now.kind = GUARDED_WAY;
    return guard_one(root, &now, err);
}

/* Nothing is covered behind a link: what is there has its own name. */
static bool is_behind_link(const struct cell_spec *spec, size_t root, struct str path)
{
    struct stat st;
    for (size_t i = 0; i < path.n; i++) {
        struct str part = {path.p, i};
        if (path.p[i] == '/' && look_at(spec, root, part, &st) == 0 && S_ISLNK(st.st_mode))
            return true;
    }
    return false;
}

/* By name, since openat2 is not for commands. What is no longer there needs no cover. */
static bool is_held(const struct cell_spec *spec, size_t root, const struct op_guarded *entry)
{
    char text[2 * PATH_TEXT_MAX];
    struct statx st;
    snprintf(text, sizeof text, "%s/%.*s", spec->roots[root].inside, (int)entry->path.n,
             entry->path.p);
    if (statx(AT_FDCWD, text, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return S_ISLNK(st.stx_mode) || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
           is_behind_link(spec, root, entry->path);
}

bool guards_hold(const struct cell_spec *spec, const struct guards *guards,
                 struct guards_view *view)
{
    bool changed = has_changed(spec, view);
    for (size_t i = 0; i < spec->n_roots; i++) {
        struct str rest = buf_str(&guards->found[i]);
        struct op_guarded entry;
        while (spec->roots[i].commands && op_guarded_next(&rest, &entry) > 0) {
            if ((changed || entry.kind != GUARDED_MISSING) && !is_held(spec, i, &entry))
                return false;
        }
    }
    if (changed)
        look(spec, guards, view, NULL);
    return true;
}

void guards_look_after(const struct cell_spec *spec, struct guards_view *view,
                       struct violations *violations)
{
    struct stat st;
    if (!has_changed(spec, view))
        return;
    for (size_t i = 0; i < view->n_missing; i++) {
        struct str path = view->missing[i].path;
        char name[sizeof "created:" + PATH_TEXT_MAX];
        if (look_at(spec, view->missing[i].root, path, &st) < 0)
            continue;
        snprintf(name, sizeof name, "created:%.*s", (int)path.n, path.p);
        violations_count(violations, name);
    }
}
