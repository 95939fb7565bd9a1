#include "work/guard_trees.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/guard_pattern.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/guard_known.h"
#include "work/guard_read.h"
#include "work/guard_saved.h"
#include "work/work.h"

void guard_trees_init(struct guard_trees *trees, int store)
{
    *trees = (struct guard_trees){.store = store};
    pthread_mutex_init(&trees->lock, NULL);
    pthread_mutex_init(&trees->leads_lock, NULL);
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        guard_watch_init(&trees->roots[i].watch);
        outward_init(&trees->roots[i].outward);
        trees->roots[i].folder = -1;
        guarded_init(&trees->roots[i].pins);
        guarded_init(&trees->roots[i].reopened);
        guarded_init(&trees->leads[i]);
    }
}

void guard_trees_done(struct guard_trees *trees)
{
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        tree_done(&trees->roots[i].tree);
        guarded_done(&trees->roots[i].found);
        guarded_done(&trees->roots[i].pins);
        guarded_done(&trees->roots[i].reopened);
        guarded_done(&trees->leads[i]);
        free(trees->lead_ids[i].list);
        guard_watch_done(&trees->roots[i].watch);
        outward_done(&trees->roots[i].outward);
        fd_closep(&trees->roots[i].folder);
    }
    pthread_mutex_destroy(&trees->lock);
    pthread_mutex_destroy(&trees->leads_lock);
}

void guard_trees_leave(struct guard_trees *trees, unsigned threads)
{
    if (threads <= 1)
        guard_trees_done(trees);
}

int guard_trees_prepare(struct guard_trees *trees, size_t number, const struct guard *guard)
{
    struct guard_root *at = &trees->roots[number];
    const char *rules = guard_id(guard);
    CLEANUP(tree_done) struct tree before = {0};
    if (at->tree.n_folders && strcmp(at->rules, rules) == 0)
        return 0;
    snprintf(at->rules, sizeof at->rules, "%s", rules);
    guard_watch_done(&at->watch);
    int loaded = guard_saved_load(at, trees->store, number, &before);
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
    tree_init(&at->tree, guard_saved_seed(trees->store));
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

bool guard_trees_knows_entry(const struct beneath_root *root, struct str path, struct str name,
                             const struct statx *st, uint64_t around)
{
    const struct tree *tree = &root->trees->roots[root->number].tree;
    uint64_t hash = tree_hash(tree, name);
    if (!tree_knows_name(tree, hash))
        return false;
    return guard_known_kind(tree, root->guard,
                            &(struct guard_known){.path = path,
                                                  .name = hash,
                                                  .id = folder_id(st),
                                                  .around = around,
                                                  .is_folder = S_ISDIR(st->stx_mode)}) !=
           TREE_PLAIN;
}

static bool knows_named_entry(const struct beneath_root *root, const struct tree *tree,
                              struct str path, struct str name)
{
    struct statx st;
    struct statx around;
    struct str folder = {path.p, path.n - name.n - (path.n > name.n)};
    if (!tree_knows_name(tree, tree_hash(tree, name)) || !stat_path(root->fd, path, &st) ||
        !stat_path(root->fd, folder, &around))
        return false;
    return guard_trees_knows_entry(root, path, name, &st, around.stx_ino);
}

/* A scan may have it for seconds. Whoever is cancelled meanwhile leaves without it. */
bool guard_trees_lock(const struct beneath_root *root)
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

void guard_trees_unlock(const struct beneath_root *root)
{
    pthread_mutex_unlock(&root->trees->lock);
}

static bool knows_in(const struct beneath_root *root, const struct tree *tree, struct str path,
                     int dir)
{
    struct statx st;
    struct statx around;
    char text[PATH_NAME_MAX + 1];
    struct str name = path_name_of(path);
    if (!tree_knows_name(tree, tree_hash(tree, name)) || name.n >= sizeof text)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return folder_stat(dir, text, &st) == 0 && folder_stat(dir, "", &around) == 0 &&
           guard_trees_knows_entry(root, path, name, &st, around.stx_ino);
}

bool guard_trees_know(const struct beneath_root *root, struct str path, int dir)
{
    struct guard_root *at = &root->trees->roots[root->number];
    struct str name;
    bool known = false;
    if (!guard_trees_lock(root))
        return true;
    known = guard_trees_prepare(root->trees, root->number, root->guard) < 0 ||
            guard_saved_take(at, root->trees->store, root->number) < 0;
    if (!known && dir >= 0)
        known = knows_in(root, &at->tree, path, dir);
    for (size_t next = 0; !known && dir < 0 && guard_next_name(path, &next, &name);) {
        size_t n = (size_t)(name.p + name.n - path.p);
        known = knows_named_entry(root, &at->tree, (struct str){path.p, n}, name);
    }
    pthread_mutex_unlock(&root->trees->lock);
    return known;
}

bool guard_trees_pin(const struct beneath_root *root, struct str path)
{
    const struct guarded_list *pins = &root->trees->roots[root->number].pins;
    if (!guard_trees_lock(root))
        return true;
    bool pinned = pins->count == PINS_MAX;
    for (size_t n = 1; !pinned && n < path.n; n++)
        pinned = path.p[n] == '/' && guarded_find(pins, (struct str){path.p, n});
    pthread_mutex_unlock(&root->trees->lock);
    return pinned;
}

static int compare_tree_ids(const void *a, const void *b)
{
    const struct tree_id *x = a;
    const struct tree_id *y = b;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    if (x->born.sec != y->born.sec)
        return x->born.sec < y->born.sec ? -1 : 1;
    return (x->born.nsec > y->born.nsec) - (x->born.nsec < y->born.nsec);
}

/* A git directory is known by what is in it, or by its name; only one that something else names need have neither.
 *
 * A scan that looks while folders are exchanged may find something else at a path. What it does not find any more is known
 * still; without a time of birth, another file may have the inode by then. */
static void note_ids(struct lead_ids *ids, const struct tree *tree,
                     const struct guarded_list *found)
{
    ids->list = mem_grow(NULL, (size_t)found->count + tree->n_known + 1, sizeof *ids->list);
    for (uint32_t i = 0; i < found->count; i++) {
        const struct guarded_item *item = &found->items[i];
        if (item->kind == GUARDED_PART || (item->kind == GUARDED_GIT && item->followed))
            ids->list[ids->count++] = item->id;
    }
    for (uint32_t i = 0; i < tree->n_known; i++) {
        const struct tree_known *known = &tree->known[i];
        bool git = known->kind == GUARDED_GIT && known->name != tree_hash(tree, STR(".git"));
        if ((git || known->kind == GUARDED_PART) && !known->led && known->id.born.sec)
            ids->list[ids->count++] = known->id;
    }
    qsort(ids->list, ids->count, sizeof *ids->list, compare_tree_ids);
}

bool guard_trees_has_leads(const struct beneath_root *root)
{
    pthread_mutex_lock(&root->trees->leads_lock);
    bool has = root->trees->lead_ids[root->number].count > 0;
    pthread_mutex_unlock(&root->trees->leads_lock);
    return has;
}

bool guard_trees_is_lead(const struct beneath_root *root, const struct tree_id *id)
{
    const struct lead_ids *ids = &root->trees->lead_ids[root->number];
    pthread_mutex_lock(&root->trees->leads_lock);
    bool found = ids->count && bsearch(id, ids->list, ids->count, sizeof *id, compare_tree_ids);
    pthread_mutex_unlock(&root->trees->leads_lock);
    return found;
}

void guard_trees_note_leads(struct guard_trees *trees, size_t number,
                            const struct guarded_list *found, const struct guarded_list *missing)
{
    struct guarded_list leads;
    guarded_init(&leads);
    for (uint32_t i = 0; i < found->count; i++) {
        if (found->items[i].kind == GUARDED_PART)
            guarded_add(&leads, &found->items[i], guarded_path(found, &found->items[i]));
    }
    for (uint32_t i = 0; i < missing->count; i++)
        guarded_add(&leads, &missing->items[i], guarded_path(missing, &missing->items[i]));
    guarded_sort(&leads);
    struct lead_ids ids = {0};
    note_ids(&ids, &trees->roots[number].tree, found);
    pthread_mutex_lock(&trees->leads_lock);
    guarded_done(&trees->leads[number]);
    free(trees->lead_ids[number].list);
    trees->leads[number] = leads;
    trees->lead_ids[number] = ids;
    pthread_mutex_unlock(&trees->leads_lock);
}

/* The list is sorted: what lies in a folder stands behind it. */
static bool holds_lead(const struct guarded_list *leads, struct str path)
{
    for (uint32_t i = 0; i < leads->count; i++) {
        struct str lead = guarded_path(leads, &leads->items[i]);
        if (path_lies_in(lead, path))
            return true;
    }
    return false;
}

bool guard_trees_lead(const struct beneath_root *root, struct str path, bool carries)
{
    struct guard_trees *trees = root->trees;
    const struct guarded_list *leads = &trees->leads[root->number];
    bool found = false;
    pthread_mutex_lock(&trees->leads_lock);
    for (size_t n = 1; leads->count && !found && n <= path.n; n++)
        found = (n == path.n || path.p[n] == '/') && guarded_find(leads, (struct str){path.p, n});
    found = found || (carries && holds_lead(leads, path));
    pthread_mutex_unlock(&trees->leads_lock);
    return found;
}
