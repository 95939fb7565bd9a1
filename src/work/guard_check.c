/* Finding the folders of a tree that have changed: one statx for each, by name from its parent's descriptor, in two
 * threads where there are many. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "work/beneath_walk.h"
#include "work/guard_read.h"

/* From so many folders on, a second thread is worth what it costs. */
#define PARALLEL_FOLDERS 1000
#define STACK_BYTES (128u << 10)
/* Renames elsewhere can make the kernel give up on a path once. */
#define OPEN_TRIES 16

/* The folders `from` to `to`, whose children are looked at. */
struct checking {
    const struct reading *reading;
    uint32_t from;
    uint32_t to;
    atomic_uchar *changed; /* of all folders; two threads may come to the same one */
    bool moved;            /* what is guarded may have changed */
    int error;
    char path[PATH_TEXT_MAX];
};

int folder_open(const struct tree *tree, int root, uint32_t folder, char *path, int flags)
{
    int fd = -1;
    tree_path(tree, folder, path);
    for (int i = 0; i < OPEN_TRIES; i++) {
        fd = beneath_open_at(root, path[0] ? path : ".", flags | O_DIRECTORY | O_NOFOLLOW, 0,
                             RESOLVE_NO_SYMLINKS);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : fd;
}

static void set(struct checking *c, uint32_t folder)
{
    atomic_store_explicit(&c->changed[folder], 1, memory_order_relaxed);
}

/* Somebody changes something meanwhile: then the folder around it is read again. */
static bool is_change(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ESTALE ||
           error == -EACCES || error == -EPERM;
}

static void compare_folder_stat(struct checking *c, uint32_t folder, const struct statx *st)
{
    struct tree_folder *f = &c->reading->tree->folders[folder];
    struct tree_id id = folder_id(st);
    bool same = tree_same_id(&id, &f->id);
    if (f->kind == GUARDED_SECRET || f->flags & TREE_TOO_LONG) {
        c->moved |= !same;
        f->id = id;
        return;
    }
    if (!same || f->changed.sec == 0 || f->changed.sec != st->stx_ctime.tv_sec ||
        f->changed.nsec != st->stx_ctime.tv_nsec || f->flags & TREE_FOREIGN)
        set(c, folder);
}

static int check_children(struct checking *c, uint32_t folder)
{
    const struct tree *t = c->reading->tree;
    char name[PATH_NAME_MAX + 1];
    FD_AT_END int fd = folder_open(t, c->reading->root, folder, c->path, O_PATH);
    if (fd < 0)
        return fd;
    for (uint32_t at = t->folders[folder].first; at != TREE_NONE; at = t->folders[at].next) {
        struct statx st;
        const struct tree_folder *f = &t->folders[at];
        memcpy(name, t->names.data + f->name, f->name_n);
        name[f->name_n] = '\0';
        int error = folder_stat(fd, name, &st);
        if (error == 0 && !S_ISDIR(st.stx_mode))
            error = -ENOTDIR;
        if (is_change(error))
            set(c, folder);
        else if (error < 0)
            return error;
        else
            compare_folder_stat(c, at, &st);
    }
    return 0;
}

static void *check_some(void *arg)
{
    struct checking *c = arg;
    const struct tree *t = c->reading->tree;
    for (uint32_t i = c->from; i < c->to && c->error == 0; i++) {
        if (t->folders[i].flags & TREE_FREE || t->folders[i].first == TREE_NONE)
            continue;
        int error = check_children(c, i);
        if (is_change(error))
            set(c, i);
        else
            c->error = error;
    }
    return NULL;
}

static int check_root(struct checking *c)
{
    struct statx st;
    int error = folder_stat(c->reading->root, "", &st);
    if (error == 0)
        compare_folder_stat(c, 0, &st);
    return error;
}

static void check_halves(struct checking half[2])
{
    pthread_t other;
    pthread_attr_t attr;
    uint32_t n = half[0].to;
    bool two = n >= PARALLEL_FOLDERS && processor_count() > 1;
    half[1] = half[0];
    half[0].to = half[1].from = two ? n / 2 : n;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (two && pthread_create(&other, &attr, check_some, &half[1]) != 0) {
        half[0].to = half[1].from = n;
        two = false;
    }
    pthread_attr_destroy(&attr);
    check_some(&half[0]);
    if (two)
        pthread_join(other, NULL);
}

int folders_check(struct reading *r, struct buf *ret)
{
    struct tree *t = r->tree;
    FREE_AT_END struct checking *half = mem_zero(2 * sizeof *half);
    half->reading = r;
    half->to = t->n_folders;
    FREE_AT_END atomic_uchar *changed = mem_zero(t->n_folders);
    half->changed = changed;
    int error = check_root(half);
    if (error < 0)
        return error;
    check_halves(half);
    r->changed |= half[0].moved | half[1].moved;
    for (uint32_t i = 0; i < t->n_folders; i++) {
        if (t->folders[i].flags & TREE_FREE)
            continue;
        if (changed[i])
            t->folders[i].flags |= TREE_READ;
        if (t->folders[i].flags & TREE_READ)
            buf_add(ret, &i, sizeof i);
    }
    return half[0].error ? half[0].error : half[1].error;
}
