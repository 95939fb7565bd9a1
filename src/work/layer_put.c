/* Puts what was made in its place. Each step looks once more at what is there; what is renamed is looked at again behind the
 * rename, and goes back where it is not what was looked at: nobody's edit is lost between the two. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/layer_put.h"

/* A rename changes the time of a change, on most file systems. */
static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_unchanged(const struct stat *now, const struct stat *base)
{
    return is_same_inode(now, base) && now->st_ctim.tv_sec == base->st_ctim.tv_sec &&
           now->st_ctim.tv_nsec == base->st_ctim.tv_nsec;
}

static bool is_as_looked_at(const struct putting *p)
{
    struct stat st;
    return fstatat(p->parent, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_unchanged(&st, &p->step->base);
}

int putting_open(struct committing *c, size_t i, struct putting *ret)
{
    *ret = (struct putting){.c = c, .step = &c->steps[i]};
    commit_temp_name(c, i, ret->temp);
    ret->parent = commit_parent(c->base, ret->step->path, &ret->name);
    return ret->parent;
}

void putting_done(struct putting *p)
{
    fd_closep(&p->parent);
}

void put_drop_temp(const struct putting *p)
{
    int64_t removed = 0;
    if (unlinkat(p->parent, p->temp, 0) < 0 && errno != ENOENT)
        (void)work_remove_tree_since(p->c->w, p->parent, p->temp, 0, &removed);
}

static void leave(struct putting *p)
{
    put_drop_temp(p);
    p->step->left = true;
}

/* Not every file system can exchange, or refuse to replace. */
static bool lacks_flag(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

int put_without_replacing(const struct putting *p, const char *from, const char *to)
{
    struct stat st;
    if (renameat2(p->parent, from, p->parent, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (!lacks_flag(errno) || fstatat(p->parent, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -1;
    return renameat(p->parent, from, p->parent, to);
}

void put_new(struct putting *p)
{
    if (put_without_replacing(p, p->temp, p->name) < 0)
        leave(p);
}

int put_exchange(const struct putting *p)
{
    return renameat2(p->parent, p->temp, p->parent, p->name, RENAME_EXCHANGE);
}

/* What lies under the temporary name is somebody's. Where its place was removed meanwhile there is nothing to exchange with. */
static void give_place_back(struct putting *p)
{
    if (put_exchange(p) == 0)
        put_drop_temp(p);
    else
        (void)put_without_replacing(p, p->temp, p->name);
    p->step->left = true;
}

void put_swap(struct putting *p)
{
    struct stat out;
    if (!is_as_looked_at(p)) {
        leave(p);
        return;
    }
    if (put_exchange(p) < 0) {
        bool plain = lacks_flag(errno) && p->step->kind == STEP_SWAP;
        if (!plain || renameat(p->parent, p->temp, p->parent, p->name) < 0)
            leave(p);
        return;
    }
    if (fstatat(p->parent, p->temp, &out, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same_inode(&out, &p->step->base)) {
        (void)unlinkat(p->parent, p->temp, 0);
        return;
    }
    give_place_back(p);
}

void put_fold(struct putting *p)
{
    if (put_exchange(p) < 0) {
        leave(p);
        return;
    }
    put_end_fold(p);
}

/* Of what somebody made in the folder meanwhile nothing is removed. */
void put_end_fold(struct putting *p)
{
    if (unlinkat(p->parent, p->temp, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return;
    give_place_back(p);
}

void put_mode(struct putting *p)
{
    struct stat st;
    FD_AT_END int fd = beneath_open_child_any(p->parent, p->name);
    mode_t mode = p->step->of.after.mode & 01777u;
    bool folder = p->step->of.after.type == NODE_FOLDER;
    /* In a folder others were put in place by now. */
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != p->step->base.st_ino ||
        st.st_dev != p->step->base.st_dev || st.st_mode != p->step->base.st_mode ||
        (!folder && !is_unchanged(&st, &p->step->base)) || fchmod(fd, mode) < 0)
        p->step->left = true;
    else
        (void)fsync(fd);
}

void put_deletion(struct putting *p)
{
    struct stat out;
    if (p->step->of.before.type == NODE_FOLDER) {
        p->step->left = unlinkat(p->parent, p->name, AT_REMOVEDIR) < 0 && errno != ENOENT;
        return;
    }
    if (!is_as_looked_at(p) || put_without_replacing(p, p->name, p->temp) < 0) {
        p->step->left = true;
        return;
    }
    if (fstatat(p->parent, p->temp, &out, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same_inode(&out, &p->step->base)) {
        (void)unlinkat(p->parent, p->temp, 0);
        return;
    }
    (void)put_without_replacing(p, p->temp, p->name);
    p->step->left = true;
}

static void (*const puts_of[])(struct putting *p) = {
    [STEP_NEW] = put_new,   [STEP_SWAP] = put_swap, [STEP_UNFOLD] = put_swap,
    [STEP_FOLD] = put_fold, [STEP_MODE] = put_mode, [STEP_DELETE] = put_deletion,
};

void commit_put(struct committing *c, size_t i)
{
    CLEANUP(putting_done) struct putting p;
    if (putting_open(c, i, &p) < 0)
        p.step->left = true;
    else
        puts_of[p.step->kind](&p);
}

/* --- in their order */

enum turn { TURN_PUT, TURN_DELETE, TURN_MODES };

static enum turn turn_of_step(const struct commit_step *step)
{
    if (step->kind == STEP_DELETE || step->kind == STEP_FOLD)
        return TURN_DELETE;
    return step->kind == STEP_MODE && step->of.after.type == NODE_FOLDER ? TURN_MODES : TURN_PUT;
}

static void put_turn(struct committing *c, enum turn turn, size_t i, put_fn put)
{
    const struct commit_step *step = &c->steps[i];
    if (!step->within && step->kind != STEP_DROP && turn_of_step(step) == turn)
        put(c, i);
}

void commit_put_all(struct committing *c, put_fn put)
{
    for (size_t i = 0; i < c->n; i++)
        put_turn(c, TURN_PUT, i, put);
    /* What lies in a folder before the folder. */
    for (size_t i = c->n; i-- > 0;)
        put_turn(c, TURN_DELETE, i, put);
    for (size_t i = c->n; i-- > 0;)
        put_turn(c, TURN_MODES, i, put);
    /* What came with a folder was left with it. */
    for (size_t i = 0; i < c->n; i++) {
        struct commit_step *step = &c->steps[i];
        for (size_t k = i + 1; k < step->end && step->left && !step->within; k++)
            c->steps[k].left |= c->steps[k].within;
    }
}
