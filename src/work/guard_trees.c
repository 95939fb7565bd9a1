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

/* 1: there is one that can be used, 0: there is none, or only one for other rules or by another version, -errno. One that
 * is damaged is not taken for none: it may know of secrets that no rule names where they are now. */
static int load(struct guard_root *at, int store, size_t number)
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
    if (at->tree.n_folders && strcmp(at->rules, rules) == 0)
        return 0;
    snprintf(at->rules, sizeof at->rules, "%s", rules);
    guard_watch_done(&at->watch);
    int loaded = load(at, trees->store, number);
    at->compared = loaded > 0;
    at->unsaved = !at->compared;
    if (loaded > 0)
        return 0;
    tree_done(&at->tree);
    if (loaded < 0)
        return loaded;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = (uint64_t)tree_now().nsec;
    tree_init(&at->tree, seed);
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

static bool knows(const struct tree *tree, int root, struct str path, struct str name)
{
    char text[BENEATH_REAL_MAX];
    struct statx st;
    uint64_t hash = tree_hash(tree, name);
    if (!tree_knows_name(tree, hash) || path.n >= sizeof text)
        return false;
    memcpy(text, path.p, path.n);
    text[path.n] = '\0';
    FD_AT_END int fd = beneath_open_at(root, text, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    if (fd < 0 || folder_stat(fd, "", &st) < 0)
        return false;
    struct tree_id id = folder_id(&st);
    return tree_find_id(tree, hash, &id) != TREE_NONE;
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
        known = knows(&at->tree, root->fd, (struct str){path.p, n}, name);
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
