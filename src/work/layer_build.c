/* What is new is made beside its place, under a temporary name: whole, with its modes and attributes, and on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/layer_commit.h"

#define ATTRIBUTES_MAX 65536
#define ACL "system.posix_acl_access"
/* setuid and setgid are never taken over. */
#define KEPT_BITS 01777u

static bool is_taken_attribute(const char *name)
{
    return (strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0) ||
           strcmp(name, ACL) == 0;
}

static int copy_attribute(int from, int to, const char *name)
{
    FREE_AT_END char *value = mem_zero(ATTRIBUTES_MAX);
    ssize_t n = fgetxattr(from, name, value, ATTRIBUTES_MAX);
    return n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0 ? -errno : 0;
}

static int copy_attributes(int from, int to)
{
    FREE_AT_END char *names = mem_zero(ATTRIBUTES_MAX);
    ssize_t n = flistxattr(from, names, ATTRIBUTES_MAX);
    if (n < 0)
        return errno == EOPNOTSUPP ? 0 : -errno;
    for (const char *at = names; at < names + n; at += strlen(at) + 1) {
        int r = is_taken_attribute(at) ? copy_attribute(from, to, at) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* The list of a file that was saved by a rename is that of the one it replaces. */
static int keep_list(struct committing *c, const struct commit_step *step, int from, int to)
{
    const char *name;
    if (step->kind != STEP_SWAP || fgetxattr(from, ACL, NULL, 0) >= 0)
        return 0;
    FD_AT_END int parent = commit_parent(c->base, step->path, &name);
    FD_AT_END int old = parent < 0 ? -1 : beneath_open_child_file(parent, name);
    return old >= 0 && fgetxattr(old, ACL, NULL, 0) > 0 ? copy_attribute(old, to, ACL) : 0;
}

static int copy_bytes(struct committing *c, const struct commit_step *step, int from, int to,
                      struct err *err)
{
    unsigned char sha256[HASH_BYTES];
    struct hash hash;
    ssize_t n;
    hash_begin(&hash);
    while ((n = read(from, c->w->chunk, WORK_CHUNK)) > 0) {
        int r = fd_write_all(to, c->w->chunk, (size_t)n);
        if (r < 0)
            return commit_failed(err, r, step);
        hash_add(&hash, c->w->chunk, (size_t)n);
        if (work_check_cancel(c->w, err) < 0)
            return -1;
    }
    hash_end_raw(&hash, sha256);
    if (n < 0)
        return commit_failed(err, -errno, step);
    if (memcmp(sha256, step->of.after.sha256, HASH_BYTES) == 0)
        return 0;
    err_set(err, ERR_CONFLICT, "`%.200s` was changed in the session since it was looked at",
            step->path);
    return err_reason(err, "changed_meanwhile");
}

/* By a descriptor: modes, times, attributes, all on the disk. */
static int finish_node(struct committing *c, const struct commit_step *step, int from, int to,
                       struct err *err)
{
    struct stat st;
    int r = copy_attributes(from, to);
    if (r == 0)
        r = keep_list(c, step, from, to);
    if (r == -EINVAL) {
        err_set(err, ERR_PERMISSION_DENIED,
                "the access list of `%.200s` names users that the sandbox does not have, so it "
                "cannot be kept; nothing was taken over: commit the other paths",
                step->path);
        return err_reason(err, "acl");
    }
    if (r == 0 && (fchmod(to, step->of.after.mode & KEPT_BITS) < 0 || fstat(from, &st) < 0))
        r = -errno;
    if (r == 0) {
        const struct timespec times[] = {st.st_atim, st.st_mtim};
        r = futimens(to, times) < 0 || (!c->many && fsync(to) < 0) ? -errno : 0;
    }
    return r < 0 ? commit_failed(err, r, step) : 0;
}

static int build_file(struct committing *c, const struct commit_step *step, int source,
                      const char *name, int to, const char *as, struct err *err)
{
    FD_AT_END int in = beneath_open_child_file(source, name);
    if (in < 0)
        return commit_failed(err, -errno, step);
    FD_AT_END int out = beneath_open_at(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                                        RESOLVE_NO_SYMLINKS);
    if (out < 0)
        return commit_failed(err, -errno, step);
    return copy_bytes(c, step, in, out, err) < 0 ? -1 : finish_node(c, step, in, out, err);
}

static int build_link(const struct commit_step *step, int source, const char *name, int to,
                      const char *as, struct err *err)
{
    char target[PATH_TEXT_MAX];
    ssize_t n = readlinkat(source, name, target, sizeof target - 1);
    if (n < 0)
        return commit_failed(err, -errno, step);
    target[n] = '\0';
    if ((size_t)n != step->of.after.target.n ||
        memcmp(target, step->of.after.target.p, (size_t)n)) {
        err_set(err, ERR_CONFLICT, "the link `%.200s` was changed since it was looked at",
                step->path);
        return err_reason(err, "changed_meanwhile");
    }
    return symlinkat(target, to, as) < 0 ? commit_failed(err, -errno, step) : 0;
}

/* A folder can be filled until it gets its mode, see finish_folders. */
static int build_node(struct committing *c, const struct commit_step *step, int to, const char *as,
                      struct err *err)
{
    const char *name;
    FD_AT_END int source = commit_parent(c->upper, step->path, &name);
    if (source < 0)
        return commit_failed(err, source, step);
    if (step->of.after.type == NODE_FILE)
        return build_file(c, step, source, name, to, as, err);
    if (step->of.after.type == NODE_LINK)
        return build_link(step, source, name, to, as, err);
    return mkdirat(to, as, 0700) < 0 ? commit_failed(err, -errno, step) : 0;
}

/* Where in the temporary folder what lies in a new one is made. */
static char *path_in_temp(const struct commit_step *top, const struct commit_step *step,
                          const char *temp)
{
    return mem_format("%s%s", temp, step->path + strlen(top->path));
}

static int finish_folder(struct committing *c, const struct commit_step *step, int parent,
                         const char *path, struct err *err)
{
    const char *name;
    FD_AT_END int source = commit_parent(c->upper, step->path, &name);
    FD_AT_END int from = source < 0 ? -1 : beneath_open_child(source, name);
    FD_AT_END int to = beneath_open_at(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                                       RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (from < 0 || to < 0)
        return commit_failed(err, -errno, step);
    return finish_node(c, step, from, to, err);
}

static int build_step(struct committing *c, size_t i, struct err *err)
{
    const struct commit_step *top = &c->steps[i];
    char temp[COMMIT_TEMP_MAX];
    const char *name;
    commit_temp_name(c, i, temp);
    FD_AT_END int parent = commit_parent(c->base, top->path, &name);
    if (parent < 0)
        return commit_failed(err, parent, top);
    if (build_node(c, top, parent, temp, err) < 0)
        return -1;
    if (top->of.after.type != NODE_FOLDER)
        return 0;
    for (size_t k = i + 1; k < top->end; k++) {
        FREE_AT_END char *path = path_in_temp(top, &c->steps[k], temp);
        FD_AT_END int to = commit_parent(parent, path, &name);
        if (to < 0)
            return commit_failed(err, to, &c->steps[k]);
        if (build_node(c, &c->steps[k], to, name, err) < 0)
            return -1;
    }
    for (size_t k = top->end; k-- > i;) {
        FREE_AT_END char *path = path_in_temp(top, &c->steps[k], temp);
        if (c->steps[k].of.after.type == NODE_FOLDER &&
            finish_folder(c, &c->steps[k], parent, path, err) < 0)
            return -1;
    }
    return 0;
}

/* One folder after the other, each once as they stand in their order. What cannot be opened for reading cannot be waited
 * for. */
static int sync_folders(struct committing *c)
{
    struct stat last = {0};
    for (size_t i = 0; i < c->n; i++) {
        const char *name;
        struct stat st;
        if (c->steps[i].within || c->steps[i].kind == STEP_DROP)
            continue;
        FD_AT_END int parent = commit_parent(c->base, c->steps[i].path, &name);
        if (parent < 0 || fstat(parent, &st) < 0 ||
            (st.st_ino == last.st_ino && st.st_dev == last.st_dev))
            continue;
        last = st;
        FD_AT_END int dir = beneath_reopen_dir(parent);
        if (dir >= 0 && fsync(dir) < 0 && errno != EINVAL)
            return -errno;
    }
    return 0;
}

int commit_sync(struct committing *c)
{
    if (c->many)
        return syncfs(c->base) < 0 ? -errno : 0;
    return sync_folders(c);
}

static bool is_built(const struct commit_step *step)
{
    return !step->within && step->kind <= STEP_FOLD;
}

int commit_build(struct committing *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        if (is_built(&c->steps[i]) && build_step(c, i, err) < 0)
            return -1;
    }
    int r = commit_sync(c);
    return r < 0 ? err_set(err, err_code_for_file(-r), "writing folders of the project to disk: %s",
                           strerror(-r))
                 : 0;
}

void commit_unbuild(struct committing *c)
{
    for (size_t i = 0; i < c->n; i++) {
        char temp[COMMIT_TEMP_MAX];
        const char *name;
        int64_t removed = 0;
        if (!is_built(&c->steps[i]))
            continue;
        commit_temp_name(c, i, temp);
        FD_AT_END int parent = commit_parent(c->base, c->steps[i].path, &name);
        if (parent >= 0 && unlinkat(parent, temp, 0) < 0 && errno != ENOENT)
            (void)work_remove_tree_since(c->w, parent, temp, 0, &removed);
    }
}
