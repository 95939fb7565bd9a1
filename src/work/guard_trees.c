#include "work/guard_trees.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "core/guard_pattern.h"
#include "work/beneath_walk.h"
#include "work/guard_index.h"
#include "work/guard_known.h"
#include "work/guard_read.h"
#include "work/work.h"

void guard_trees_init(struct guard_trees *trees, int store)
{
    *trees = (struct guard_trees){.store = store};
    pthread_mutex_init(&trees->lock, NULL);
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        guard_watch_init(&trees->roots[i].watch);
        guarded_init(&trees->roots[i].pins);
    }
}

void guard_trees_done(struct guard_trees *trees)
{
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        tree_done(&trees->roots[i].tree);
        guarded_done(&trees->roots[i].found);
        guarded_done(&trees->roots[i].pins);
        guard_watch_done(&trees->roots[i].watch);
    }
    pthread_mutex_destroy(&trees->lock);
}

static void index_name(size_t number, const char *suffix, char name[64])
{
    snprintf(name, 64, "guards-%zu%s", number, suffix);
}

static int read_whole(int fd, struct buf *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || (size_t)st.st_size > INDEX_BYTES_MAX)
        return -EBADMSG;
    if (buf_reserve(ret, (size_t)st.st_size) < 0)
        return -ENOMEM;
    ssize_t n = fd_read_upto(fd, ret->data, (size_t)st.st_size);
    ret->len = n > 0 ? (size_t)n : 0;
    return n < 0 ? (int)n : 0;
}

/* 1: there is one that can be used, 0: there is none, one by another version, or one for other rules or from a time that is
 * yet to come (*ret_other); -errno. One that is damaged is not taken for none: it may know of secrets that no rule names
 * where they are now. */
static int load(struct guard_root *at, int store, size_t number, struct tree *ret_other)
{
    char name[64];
    struct tree_time time = tree_now();
    index_name(number, "", name);
    if (store < 0)
        return 0;
    FD_AT_END int fd = beneath_open_child_file(store, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_is_shortage(errno) ? -errno : -EBADMSG;
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    int error = read_whole(fd, &bytes);
    if (error < 0)
        return error;
    if (index_read(buf_str(&bytes), at->rules, &time, &at->tree))
        return 1;
    if (index_read(buf_str(&bytes), NULL, NULL, ret_other))
        return 0;
    return index_is_whole(buf_str(&bytes)) ? 0 : -EBADMSG;
}

int guard_trees_save(struct guard_root *root, int store, size_t number)
{
    char name[64];
    char temporary[64];
    char unique[32];
    struct tree_time at = tree_now();
    if (store < 0)
        return 0;
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    if (index_write(&root->tree, root->rules, &at, &bytes) < 0)
        return -ENOMEM;
    snprintf(unique, sizeof unique, ".%llx", (unsigned long long)(at.nsec ^ root->tree.seed));
    index_name(number, "", name);
    index_name(number, unique, temporary);
    int fd = -1;
    if (beneath_create(store, temporary, &fd) < 0)
        return -errno;
    int error = fd_write_all(fd, bytes.data, bytes.len);
    close(fd);
    if (error == 0 && renameat(store, temporary, store, name) < 0)
        error = -errno;
    if (error < 0)
        unlinkat(store, temporary, 0);
    root->reread = 0;
    root->unsaved = error < 0;
    return error;
}

int guard_trees_prepare(struct guard_trees *trees, size_t number, const struct guard *guard)
{
    struct guard_root *at = &trees->roots[number];
    const char *rules = guard_id(guard);
    uint64_t seed = 0;
    CLEANUP(tree_done) struct tree before = {0};
    if (at->tree.n_folders && strcmp(at->rules, rules) == 0)
        return 0;
    snprintf(at->rules, sizeof at->rules, "%s", rules);
    guard_watch_done(&at->watch);
    int loaded = load(at, trees->store, number, &before);
    at->compared = loaded > 0;
    at->unsaved = !at->compared;
    if (loaded > 0)
        return 0;
    if (loaded == 0 && trees->store < 0) {
        before = at->tree;
        at->tree = (struct tree){0};
    }
    tree_done(&at->tree);
    if (loaded < 0)
        return loaded;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = (uint64_t)tree_now().nsec;
    tree_init(&at->tree, seed);
    if (before.n_known)
        guard_known_carry(&at->tree, &before);
    tree_add_folder(&at->tree, TREE_NONE, STR(""));
    return 0;
}

int guard_trees_hold(struct work *w, struct guard_trees **ret_held, struct err *err)
{
    if (!w->trees)
        return 0;
    if (work_take_mutex(w, &w->trees->lock, err) < 0)
        return -1;
    *ret_held = w->trees;
    return 0;
}

void guard_trees_release(struct guard_trees **held)
{
    if (*held)
        pthread_mutex_unlock(&(*held)->lock);
}

static bool stat_path(int root, struct str path, struct statx *ret)
{
    char text[BENEATH_REAL_MAX] = ".";
    if (path.n >= sizeof text)
        return false;
    if (path.n) {
        memcpy(text, path.p, path.n);
        text[path.n] = '\0';
    }
    FD_AT_END int fd = beneath_open_at(root, text, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    return fd >= 0 && folder_stat(fd, "", ret) == 0;
}

static bool knows(const struct beneath_root *root, const struct tree *tree, struct str path,
                  struct str name)
{
    struct statx st;
    struct statx around;
    uint64_t hash = tree_hash(tree, name);
    struct str folder = {path.p, path.n - name.n - (path.n > name.n)};
    if (!tree_knows_name(tree, hash) || !stat_path(root->fd, path, &st) ||
        !stat_path(root->fd, folder, &around))
        return false;
    return guard_known_kind(tree, root->guard,
                            &(struct guard_known){.path = path,
                                                  .name = hash,
                                                  .id = folder_id(&st),
                                                  .around = around.stx_ino,
                                                  .is_folder = S_ISDIR(st.stx_mode)}) != TREE_PLAIN;
}

/* A scan may have it for seconds. Whoever is cancelled meanwhile leaves without it. */
static bool take_lock(const struct beneath_root *root)
{
    struct err ignored;
    struct work *w = root->work;
    if (!w)
        return pthread_mutex_lock(&root->trees->lock) == 0;
    if (w->gave_up)
        return false;
    w->gave_up = work_take_mutex(w, &root->trees->lock, &ignored) < 0;
    return !w->gave_up;
}

bool guard_trees_know(const struct beneath_root *root, struct str path)
{
    struct guard_root *at = &root->trees->roots[root->number];
    struct str name;
    bool known = false;
    if (!take_lock(root))
        return true;
    known = guard_trees_prepare(root->trees, root->number, root->guard) < 0;
    for (size_t next = 0; !known && guard_next_name(path, &next, &name);) {
        size_t n = (size_t)(name.p + name.n - path.p);
        known = knows(root, &at->tree, (struct str){path.p, n}, name);
    }
    pthread_mutex_unlock(&root->trees->lock);
    return known;
}

bool guard_trees_pin(const struct beneath_root *root, struct str path)
{
    const struct guarded_list *pins = &root->trees->roots[root->number].pins;
    if (!take_lock(root))
        return true;
    bool pinned = pins->count == PINS_MAX;
    for (size_t n = 1; !pinned && n < path.n; n++)
        pinned = path.p[n] == '/' && guarded_find(pins, (struct str){path.p, n});
    pthread_mutex_unlock(&root->trees->lock);
    return pinned;
}
