#include "work/guarded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PATHS_MAX ((size_t)64 << 20)
/* Of those that are remembered though they were not found: they may lie in folders that cannot be read. */
#define LOST_MAX 20000u

void guarded_init(struct guarded_list *list)
{
    *list = (struct guarded_list){0};
    buf_init(&list->paths, PATHS_MAX);
}

void guarded_done(struct guarded_list *list)
{
    free(list->items);
    buf_done(&list->paths);
    *list = (struct guarded_list){0};
}

struct str guarded_path(const struct guarded_list *list, const struct guarded_item *item)
{
    return (struct str){list->paths.data + item->path, item->n};
}

void guarded_add(struct guarded_list *list, const struct guarded_item *item, struct str path)
{
    if ((list->count & (list->count - 1)) == 0)
        list->items = mem_grow(list->items, list->count ? (size_t)2 * list->count : 1,
                               sizeof *list->items);
    struct guarded_item *to = &list->items[list->count++];
    *to = *item;
    to->path = (uint32_t)list->paths.len;
    to->n = (uint16_t)path.n;
    buf_add(&list->paths, path.p, path.n);
}

static int compare_paths(struct str a, struct str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare(const void *a, const void *b, void *list)
{
    return compare_paths(guarded_path(list, a), guarded_path(list, b));
}

void guarded_sort(struct guarded_list *list)
{
    if (list->count)
        qsort_r(list->items, list->count, sizeof *list->items, compare, list);
}

struct guarded_item *guarded_find(const struct guarded_list *list, struct str path)
{
    uint32_t from = 0;
    for (uint32_t to = list->count; from < to;) {
        uint32_t at = from + (to - from) / 2;
        int order = compare_paths(guarded_path(list, &list->items[at]), path);
        if (order == 0)
            return &list->items[at];
        if (order < 0)
            from = at + 1;
        else
            to = at;
    }
    return NULL;
}

struct collecting {
    struct tree *tree;
    struct guarded_list *list;
    bool git;
    uint32_t max;
    char path[PATH_TEXT_MAX];
};

static bool is_git_directory(const struct collecting *c, const struct tree_folder *f)
{
    return c->git && (f->flags & TREE_GIT) == TREE_GIT && !(f->flags & TREE_GIT_NAME);
}

static uint8_t kind_of(const struct collecting *c, uint32_t folder)
{
    const struct tree_folder *f = &c->tree->folders[folder];
    const struct tree_folder *parent = f->parent == TREE_NONE ? NULL : &c->tree->folders[f->parent];
    if (f->flags & (TREE_CLOSED | TREE_TOO_LONG) || f->kind == GUARDED_SECRET)
        return GUARDED_SECRET;
    if (!parent)
        return TREE_PLAIN;
    if (parent->flags & TREE_COVERED)
        return TREE_PLAIN;
    if (f->kind == GUARDED_GIT || is_git_directory(c, f))
        return GUARDED_GIT;
    if (f->kind != GUARDED_PROTECTED && f->parent == 0 && is_git_directory(c, parent) &&
        tree_is_part_of_git(tree_name(c->tree, f->name, f->name_n)))
        return GUARDED_PROTECTED;
    return f->kind;
}

/* What is in a protected folder is covered with it, save secrets and sockets. */
static void take_folder(struct collecting *c, uint32_t folder)
{
    struct tree_folder *f = &c->tree->folders[folder];
    uint8_t kind = kind_of(c, folder);
    bool covered = kind == GUARDED_GIT || kind == GUARDED_PROTECTED ||
                   (f->parent != TREE_NONE && c->tree->folders[f->parent].flags & TREE_COVERED);
    f->flags = (uint16_t)(covered ? f->flags | TREE_COVERED : f->flags & ~TREE_COVERED);
    if (kind == TREE_PLAIN)
        return;
    /* By what is in it, not by its name: it is looked at anew each time. */
    bool closed = f->flags & (TREE_CLOSED | TREE_TOO_LONG) && f->kind != GUARDED_SECRET;
    bool layout = kind == GUARDED_GIT && f->kind != GUARDED_GIT;
    struct guarded_item item = {
        .kind = kind,
        .type = TYPE_DIRECTORY,
        .known = kind != GUARDED_WAY && !closed && !layout,
        .dated = closed || layout,
        .id = f->id,
    };
    guarded_add(c->list, &item, (struct str){c->path, tree_path(c->tree, folder, c->path)});
}

static void take_mark(struct collecting *c, uint32_t folder, const struct tree_mark *mark)
{
    const struct tree_folder *f = &c->tree->folders[folder];
    if (f->flags & TREE_COVERED && mark->kind != GUARDED_SECRET && mark->kind != GUARDED_SOCKET)
        return;
    if (mark->kind == TREE_PLAIN && !is_git_directory(c, f))
        return;
    size_t n = tree_path(c->tree, folder, c->path);
    if (n)
        c->path[n++] = '/';
    memcpy(c->path + n, c->tree->names.data + mark->name, mark->name_n);
    struct guarded_item item = {
        .kind = mark->kind == TREE_PLAIN ? GUARDED_PROTECTED : mark->kind,
        .type = mark->type,
        .known = mark->kind != GUARDED_SOCKET,
        .id = mark->id,
    };
    guarded_add(c->list, &item, (struct str){c->path, n + mark->name_n});
}

static bool is_full(const struct collecting *c)
{
    return c->list->count > c->max || c->list->paths.failed;
}

int guarded_collect(struct tree *t, bool git, uint32_t max, struct guarded_list *list)
{
    struct collecting c = {.tree = t, .list = list, .git = git, .max = max};
    uint32_t at = t->n_folders ? 0 : TREE_NONE;
    while (at != TREE_NONE) {
        take_folder(&c, at);
        for (uint32_t m = t->folders[at].marks; m != TREE_NONE; m = t->marks[m].next)
            take_mark(&c, at, &t->marks[m]);
        if (is_full(&c))
            return -E2BIG;
        if (t->folders[at].first != TREE_NONE) {
            at = t->folders[at].first;
            continue;
        }
        while (at != 0 && t->folders[at].next == TREE_NONE)
            at = t->folders[at].parent;
        at = at == 0 ? TREE_NONE : t->folders[at].next;
    }
    guarded_sort(list);
    return 0;
}

static struct str own_name(struct str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    return slash ? (struct str){slash + 1, (size_t)(path.p + path.n - slash - 1)} : path;
}

/* An editor replaces a file under the same path. Where the one that was there lives on elsewhere, this is another. */
static bool is_successor(const struct tree *t, const struct tree *now, uint64_t path)
{
    uint32_t at = tree_find_path(t, path);
    return at != TREE_NONE && t->closed == 0 &&
           tree_find_id(now, t->known[at].name, &t->known[at].id) == TREE_NONE;
}

static uint64_t seen_in(const struct tree *t, const struct tree *now, const struct tree_known *k,
                        uint64_t generation)
{
    uint32_t at = tree_find_id(t, k->name, &k->id);
    if (at == TREE_NONE && is_successor(t, now, k->path))
        at = tree_find_path(t, k->path);
    return at == TREE_NONE ? generation : t->known[at].seen;
}

/* Those that may be in folders that cannot be read. */
static uint32_t keep_lost(const struct tree *t, const struct tree *now, struct tree_known *to,
                          uint32_t count)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; t->closed && i < t->n_known && lost < LOST_MAX; i++) {
        if (tree_find_id(now, t->known[i].name, &t->known[i].id) == TREE_NONE)
            to[count + lost++] = t->known[i];
    }
    return count + lost;
}

bool guarded_remember(struct tree *t, struct guarded_list *list, uint64_t generation)
{
    struct tree now = {.seed = t->seed};
    size_t room = (size_t)list->count + t->n_known + 1;
    struct tree_known *known = mem_grow(NULL, room, sizeof *known);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct guarded_item *item = &list->items[i];
        struct str path = guarded_path(list, item);
        if (item->known)
            known[count++] = (struct tree_known){.path = tree_hash(t, path),
                                                 .name = tree_hash(t, own_name(path)),
                                                 .id = item->id,
                                                 .kind = item->kind};
    }
    tree_set_known(&now, known, count);
    uint32_t next = 0;
    bool same = count == t->n_known;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!list->items[i].known)
            continue;
        same = same && tree_find_id(t, known[next].name, &known[next].id) != TREE_NONE;
        known[next].seen = seen_in(t, &now, &known[next], generation);
        list->items[i].seen = known[next++].seen;
    }
    count = keep_lost(t, &now, known, count);
    same = same && count == t->n_known;
    now.known = NULL;
    tree_done(&now);
    tree_set_known(t, known, count);
    return !same;
}
