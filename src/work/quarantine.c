/* What a command has made and the user's programs would obey is taken out of the project: copied into the workspace's
 * store, where nothing finds it by itself, and then removed. The store is another mount, so a rename cannot do it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/guard_pattern.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/git_plain.h"
#include "work/guard_read.h"
#include "work/hidden_git.h"
#include "work/quarantine_modes.h"
#include "work/quarantine_parts.h"
#include "work/work.h"

/* A folder that the command made read-only around it. */
static int make_writable(int dir)
{
    struct stat st;
    if (fstat(dir, &st) < 0 || fchmodat(dir, ".", (st.st_mode & 0777) | 0700, 0) < 0)
        return -errno;
    return 0;
}

void quarantine_take_head(int at, const char *name)
{
    FD_AT_END int dir = beneath_open_child(at, name);
    if (dir >= 0)
        renameat2(dir, "HEAD", dir, "HEAD.quarantined", 0);
}

bool quarantine_is_same(int dir, const char *name, const struct op_guarded *was)
{
    struct statx st;
    if (folder_stat(dir, name, &st) < 0)
        return false;
    struct tree_id id = folder_id(&st);
    struct op_identity now = tree_identity(&id);
    return was->id.inode != 0 && now.inode == was->id.inode && now.born_ns == was->id.born_ns &&
           work_file_type(st.stx_mode) == was->type;
}

/* The gate made the name up: it has noted it, and no command can have taken it before. */
static int rename_to_aside(const struct beneath_place *place, const char *aside)
{
    for (bool forced = false;; forced = true) {
        if (renameat2(place->dir, place->name, place->dir, aside, RENAME_NOREPLACE) == 0)
            return 0;
        if ((errno != EACCES && errno != EPERM) || forced || make_writable(place->dir) < 0)
            return errno == EEXIST ? -EBUSY : -errno;
    }
}

/* A rename goes by the name, under which something else may be by now: that is seen afterwards, and put back.
 * 1: it was something else. -EEXIST: that could not be put back. */
static int rename_aside(const struct beneath_place *place, const struct op_guarded *was,
                        const char *aside)
{
    int r = rename_to_aside(place, aside);
    if (r < 0)
        return r;
    if (quarantine_is_same(place->dir, aside, was)) {
        quarantine_take_head(place->dir, aside);
        return 0;
    }
    return renameat2(place->dir, aside, place->dir, place->name, RENAME_NOREPLACE) < 0 ? -EEXIST
                                                                                       : 1;
}

static size_t count_names(struct str path)
{
    size_t count = 0;
    struct str name;
    for (size_t at = 0; guard_next_name(path, &at, &name);)
        count += name.n > 0;
    return count;
}

/* What is left of a path without its last names; .n is 0 for the root. */
static struct str without_last(struct str path, size_t names)
{
    for (; names > 0; names--) {
        while (path.n && path.p[path.n - 1] != '/')
            path.n--;
        path.n -= path.n > 0;
    }
    return path;
}

/* How many names at the end of a path are those of a folder on the way to what a rule protects; 0: none. */
static size_t count_way(const struct guard *guard, struct str path)
{
    const char *rule;
    size_t all = count_names(path);
    for (size_t names = 1; names <= all; names++) {
        struct str before = without_last(path, names);
        size_t at = before.n + (before.n > 0);
        if (guard_holds(guard, (struct str){path.p + at, path.n - at}, &rule) == GUARD_PROTECTED)
            return names;
    }
    return 0;
}

static bool is_called_git(const char *path)
{
    return strcasecmp(path_name(path), ".git") == 0;
}

/* Whether it lies where the programs that obey it look by themselves: at the workspace's root, or at that of a
 * repository. The rule says how many names belong to it. */
static bool is_at_a_root(const struct beneath_root *root, const char *path, bool is_link)
{
    const char *rule = "";
    struct str whole = {path, strlen(path)};
    char git[PATH_TEXT_MAX + 8];
    /* A file that leads git elsewhere makes the folder around it a root. */
    if (is_called_git(path))
        return true;
    size_t names = 0;
    if (guard_judge(root->guard, whole, true, &rule) != GUARD_OPEN ||
        guard_judge(root->guard, whole, false, &rule) != GUARD_OPEN)
        names = count_names((struct str){rule, strlen(rule)});
    else if (is_link)
        names = count_way(root->guard, whole);
    /* By what is beside it: of a root that looks like a repository only HEAD is taken. */
    if (names == 0)
        return str_is(whole, "HEAD");
    struct str folder = without_last(whole, names);
    snprintf(git, sizeof git, "%.*s%s.git", (int)folder.n, folder.p, folder.n ? "/" : "");
    if (folder.n == 0)
        return true;
    FD_AT_END int fd = beneath_open_at(root->fd, git, O_PATH | O_NOFOLLOW, 0, 0);
    return fd >= 0;
}

/* A repository may stay where nothing in it makes git run a program. */
static bool is_plain_repository(const struct beneath_place *place)
{
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    return dir >= 0 && git_directory_is_plain(dir);
}

/* Of a folder that is a repository only by what is in it, HEAD is taken out: then it is none any more. What else is in it
 * may be the project's own. */
static int go_to_head_inside(struct beneath_place *place, struct op_guarded *was)
{
    struct statx st;
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    if (dir < 0)
        return -errno;
    if (!quarantine_is_same(dir, "", was))
        return -EREMCHG;
    int r = folder_stat(dir, "HEAD", &st);
    if (r < 0)
        return r;
    struct tree_id id = folder_id(&st);
    was->id = tree_identity(&id);
    was->type = work_file_type(st.stx_mode);
    close(place->dir);
    place->dir = TAKE_FD(dir);
    snprintf(place->name, sizeof place->name, "HEAD");
    return 0;
}

/* A common directory needs no HEAD: it goes as a whole. */
static bool has_head(const struct beneath_place *place)
{
    struct statx st;
    FD_AT_END int dir = beneath_open_child(place->dir, place->name);
    return dir < 0 || folder_stat(dir, "HEAD", &st) != -ENOENT;
}

/* 1: it may stay, 0: it is to go, -errno. Then `place` and `was` are what is to go. */
static int is_to_stay(const struct beneath_root *root, const struct op_quarantine_request *q,
                      struct beneath_place *place, struct op_guarded *was)
{
    struct stat st;
    bool link = fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(st.st_mode);
    /* The user's git reads it as a part of a git directory, whatever it is called. */
    if (was->kind == GUARDED_PART)
        return 0;
    if (!q->git)
        return !is_at_a_root(root, q->path.p, link);
    if (is_plain_repository(place))
        return 1;
    return strcmp(place->name, ".git") == 0 || !has_head(place) ? 0 : go_to_head_inside(place, was);
}

int quarantine_find_place(const struct beneath_root *root, const char *path,
                          struct beneath_place *ret, struct err *err)
{
    struct beneath_real real;
    if (strcmp(path, ".") != 0)
        return beneath_entry(root, path, ret, &real, err);
    snprintf(ret->name, sizeof ret->name, ".");
    return beneath_open(root, ".", O_PATH | O_DIRECTORY, &ret->dir, err);
}

/* Whoever made it can open it again, and so can the user, with what is in it. */
static int open_closed_folder(const struct beneath_place *place, struct op_quarantine_reply *ret,
                              const char *path, struct err *err)
{
    struct stat st;
    if (fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, path);
    mode_t mode = (st.st_mode & 0777) | 0700;
    if (S_ISDIR(st.st_mode) && (st.st_mode & 0777) != mode &&
        fchmodat(place->dir, place->name, mode, 0) == 0) {
        ret->outcome = QUARANTINE_OPENED;
        quarantine_note_mode(&st, mode);
    }
    return 0;
}

/* Moves it where it is to go. */
static int take_out(struct work *w, const struct op_quarantine_request *q,
                    const struct beneath_root *store, const struct beneath_place *place,
                    const struct op_guarded *was, struct op_quarantine_reply *ret, struct err *err)
{
    char aside[PATH_NAME_MAX + 1];
    snprintf(aside, sizeof aside, OP_QUARANTINE_ASIDE, q->aside);
    int r = rename_aside(place, was, aside);
    if (r == -EEXIST)
        return err_set(err, ERR_CONFLICT, "`%s` was replaced while it was moved to `%s`", q->path.p,
                       aside);
    if (r < 0)
        return beneath_errno(err, -r, q->path.p);
    ret->outcome = r == 1 ? QUARANTINE_OTHER : quarantine_move_out(w, store, q, place, aside, ret);
    return 0;
}

/* What stays, though nobody looks into it: what is in there may be dangerous all the same. */
static int leave_in_place(struct work *w, const struct op_quarantine_request *q,
                          const struct beneath_place *place, const struct op_guarded *was,
                          struct op_quarantine_reply *ret, struct err *err)
{
    if (q->closed && open_closed_folder(place, ret, q->path.p, err) < 0)
        return -1;
    if (!q->git && was->type == TYPE_DIRECTORY && ret->outcome == QUARANTINE_LEFT)
        hidden_git_find(w, place->dir, place->name, q->path, ret);
    return 0;
}

int work_quarantine(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    const struct op_quarantine_request *q = &request->quarantine;
    struct op_quarantine_reply *ret = &reply->quarantine;
    struct beneath_place place = {.dir = -1};
    struct op_guarded was;
    *ret = (struct op_quarantine_reply){.outcome = QUARANTINE_LEFT};
    if (op_guarded_next(&body, &was) <= 0)
        return err_set(err, ERR_INTERNAL, "it is not said what is to be moved");
    const struct beneath_root *store = work_root(w, q->store, true, err);
    struct beneath_root into = {.fd = store ? store->fd : -1};
    const struct beneath_root *root = work_writable_root(w, q->root, true, q->path.p, err);
    if (store && root && q->resume)
        return quarantine_resume(w, &into, root, q, &was, ret, err);
    if (!store || !root || quarantine_find_place(root, q->path.p, &place, err) < 0)
        return -1;
    int r = !quarantine_is_same(place.dir, place.name, &was) ? -EREMCHG
            : q->closed                                      ? 1
                                                             : is_to_stay(root, q, &place, &was);
    CLEANUP(fd_closep) int dir = place.dir;
    if (r == -EREMCHG) {
        ret->outcome = QUARANTINE_OTHER;
        return 0;
    }
    if (r < 0)
        return beneath_errno(err, -r, q->path.p);
    ret->head = r == 0 && q->git && strcmp(place.name, "HEAD") == 0;
    return r == 1 ? leave_in_place(w, q, &place, &was, ret, err)
                  : take_out(w, q, &into, &place, &was, ret, err);
}
