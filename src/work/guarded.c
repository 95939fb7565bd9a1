#include "work/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/guard_read.h"

/* Of those that are remembered though they were not found: they may lie in folders that cannot be read. */
#define LOST_MAX 20000u
/* From so many on, all that was not found counts as vanished. */
#define VANISHED_MAX 64u

void guarded_init(struct guarded_list *list)
{
    *list = (struct guarded_list){0};
    buf_init(&list->paths, OP_SCAN_PATHS_MAX);
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

static int compare_guarded_items(const void *a, const void *b, void *list)
{
    return str_compare(guarded_path(list, a), guarded_path(list, b));
}

void guarded_sort(struct guarded_list *list)
{
    if (list->count)
        qsort_r(list->items, list->count, sizeof *list->items, compare_guarded_items, list);
}

/* The first that does not stand before this path. */
static uint32_t find_guarded_place(const struct guarded_list *list, struct str path)
{
    uint32_t from = 0;
    for (uint32_t to = list->count; from < to;) {
        uint32_t at = from + (to - from) / 2;
        if (str_compare(guarded_path(list, &list->items[at]), path) < 0)
            from = at + 1;
        else
            to = at;
    }
    return from;
}

struct guarded_item *guarded_find(const struct guarded_list *list, struct str path)
{
    uint32_t at = find_guarded_place(list, path);
    bool there = at < list->count && str_compare(guarded_path(list, &list->items[at]), path) == 0;
    return there ? &list->items[at] : NULL;
}

void guarded_insert(struct guarded_list *list, const struct guarded_item *item, struct str path)
{
    uint32_t at = find_guarded_place(list, path);
    uint32_t last = list->count;
    guarded_add(list, item, path);
    if (list->count == last)
        return;
    struct guarded_item added = list->items[last];
    memmove(&list->items[at + 1], &list->items[at], (last - at) * sizeof *list->items);
    list->items[at] = added;
}

struct collecting {
    struct tree *tree;
    struct guarded_list *list;
    bool git;
    uint32_t max;
    char path[PATH_TEXT_MAX];
};

static bool is_git_directory_layout(const struct collecting *c, const struct tree_folder *f)
{
    return c->git && (f->flags & TREE_GIT) == TREE_GIT && !(f->flags & TREE_GIT_NAME);
}

static uint8_t kind_of_tree_folder(const struct collecting *c, uint32_t folder)
{
    const struct tree_folder *f = &c->tree->folders[folder];
    const struct tree_folder *parent = f->parent == TREE_NONE ? NULL : &c->tree->folders[f->parent];
    if (f->flags & (TREE_CLOSED | TREE_TOO_LONG) || f->kind == GUARDED_SECRET)
        return GUARDED_SECRET;
    if (!parent)
        return TREE_PLAIN;
    if (parent->flags & TREE_COVERED)
        return TREE_PLAIN;
    if (f->kind == GUARDED_GIT || is_git_directory_layout(c, f))
        return GUARDED_GIT;
    if (f->kind != GUARDED_PROTECTED && f->parent == 0 && is_git_directory_layout(c, parent) &&
        tree_is_part_of_git(tree_name(c->tree, f->name, f->name_n)))
        return GUARDED_PROTECTED;
    return f->kind;
}

/* What is in a protected folder is covered with it, save secrets and sockets. */
static void take_guarded_folder(struct collecting *c, uint32_t folder)
{
    struct tree_folder *f = &c->tree->folders[folder];
    uint8_t kind = kind_of_tree_folder(c, folder);
    bool covered = kind == GUARDED_GIT || kind == GUARDED_PROTECTED || kind == GUARDED_PART ||
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
        .apart = f->apart,
        .id = f->id,
        .around = f->parent == TREE_NONE ? 0 : c->tree->folders[f->parent].id.inode,
    };
    guarded_add(c->list, &item, (struct str){c->path, tree_path(c->tree, folder, c->path)});
}

static void take_guarded_mark(struct collecting *c, uint32_t folder, const struct tree_mark *mark)
{
    const struct tree_folder *f = &c->tree->folders[folder];
    if (f->flags & TREE_COVERED && mark->kind != GUARDED_SECRET && mark->kind != GUARDED_SOCKET)
        return;
    if (mark->kind == TREE_PLAIN && !is_git_directory_layout(c, f))
        return;
    size_t n = tree_path(c->tree, folder, c->path);
    if (n)
        c->path[n++] = '/';
    memcpy(c->path + n, c->tree->names.data + mark->name, mark->name_n);
    struct guarded_item item = {
        .kind = mark->kind == TREE_PLAIN ? GUARDED_PROTECTED : mark->kind,
        .type = mark->type,
        .known = mark->kind != GUARDED_SOCKET,
        .apart = mark->apart,
        .id = mark->id,
        .around = f->id.inode,
    };
    guarded_add(c->list, &item, (struct str){c->path, n + mark->name_n});
}

static bool is_guarded_list_full(const struct collecting *c)
{
    return c->list->count > c->max || c->list->paths.failed;
}

int guarded_collect(struct tree *t, bool git, uint32_t max, struct guarded_list *list)
{
    struct collecting c = {.tree = t, .list = list, .git = git, .max = max};
    uint32_t at = t->n_folders ? 0 : TREE_NONE;
    while (at != TREE_NONE) {
        take_guarded_folder(&c, at);
        for (uint32_t m = t->folders[at].marks; m != TREE_NONE; m = t->marks[m].next)
            take_guarded_mark(&c, at, &t->marks[m]);
        if (is_guarded_list_full(&c))
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

/* An editor replaces a file under the same path: what was there is gone, and this one is of the same type. Where the one
 * that was there lives on elsewhere, this is another. A command can do the same only to what no mount covers: a link. */
static bool is_successor(const struct tree *t, const struct tree *now, const struct tree_known *k)
{
    uint32_t at = tree_find_path(t, k->path);
    return at != TREE_NONE && t->known[at].type == k->type && k->type != TYPE_SYMLINK &&
           tree_find_id(now, t->known[at].name, &t->known[at].id) == TREE_NONE &&
           !tree_holds(t, t->known[at].name, &t->known[at].id);
}

static void date(const struct tree *t, const struct tree *now, struct tree_known *k,
                 uint64_t generation, bool complete)
{
    uint32_t at = tree_find_known(t, k);
    bool follows = at == TREE_NONE && complete && is_successor(t, now, k);
    if (follows)
        at = tree_find_path(t, k->path);
    bool unseen = at == TREE_NONE || t->known[at].seen == TREE_UNSEEN;
    k->seen = unseen ? generation : t->known[at].seen;
    k->replaced = follows ? generation : at == TREE_NONE ? 0 : t->known[at].replaced;
}

/* Whether all that is known would have been found if it were still there: not in a folder that cannot be looked into,
 * nor in a secret one that a command made. */
static bool is_guarded_complete(const struct tree *t, const struct guarded_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct guarded_item *item = &list->items[i];
        struct str name = path_name_of(guarded_path(list, item));
        if (item->kind != GUARDED_SECRET || item->type != TYPE_DIRECTORY)
            continue;
        /* A command goes on to write in a folder that it had open when that was covered. */
        uint32_t at = tree_find_id(t, tree_hash(t, name), &item->id);
        if (at == TREE_NONE || t->known[at].made)
            return false;
    }
    return t->closed == 0;
}

static struct tree_known known_of(const struct tree *t, const struct guarded_list *list,
                                  const struct guarded_item *item)
{
    struct str path = guarded_path(list, item);
    return (struct tree_known){.path = tree_hash(t, path),
                               .name = tree_hash(t, path_name_of(path)),
                               .id = item->id,
                               .around = item->around,
                               .kind = item->kind,
                               .type = item->type,
                               .made = item->made,
                               .led = item->led,
                               .apart = item->apart};
}

static bool stat_item(int root, struct str path, struct statx *ret)
{
    char text[PATH_TEXT_MAX];
    memcpy(text, path.p, path.n);
    text[path.n] = '\0';
    FD_AT_END int fd = beneath_open_at(root, text, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    return fd >= 0 && folder_stat(fd, "", ret) == 0;
}

static bool is_since(int root, struct str path, int64_t ran_ns)
{
    struct statx st;
    return !stat_item(root, path, &st) ||
           tree_time_latest(st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec) >= ran_ns;
}

bool guarded_is_stale(const struct guarded_list *list, int root)
{
    struct statx st;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct guarded_item *item = &list->items[i];
        if (!item->followed && item->kind != GUARDED_PART)
            continue;
        if (!stat_item(root, guarded_path(list, item), &st))
            return true;
        struct tree_id id = folder_id(&st);
        if (!tree_same_id(&id, &item->id))
            return true;
    }
    return false;
}

void guarded_mark_made(const struct tree *t, int root, int64_t ran_ns, struct guarded_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct guarded_item *item = &list->items[i];
        struct tree_known k = known_of(t, list, item);
        uint32_t at = tree_find_known(t, &k);
        item->made = at == TREE_NONE
                         ? ran_ns > 0 && is_since(root, guarded_path(list, item), ran_ns)
                         : t->known[at].made;
    }
}

/* What was not found may be in a folder that is not looked into, and come out of it again. It counts as known, but
 * nothing is its successor. */
static struct tree_known without_path(const struct tree_known *known)
{
    struct tree_known lost = *known;
    /* Where it was under other rules tells whether it was moved since. */
    if (!known->carried)
        lost.path = 0;
    return lost;
}

/* The inodes of all folders of a tree, in order. */
struct inodes {
    uint64_t *list; /* NULL: nobody has asked yet */
    size_t count;
};

static void inodes_done(struct inodes *i)
{
    free(i->list);
}

static int compare_inodes(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static bool has_folder(const struct tree *t, struct inodes *inodes, uint64_t inode)
{
    if (!inodes->list) {
        inodes->list = mem_grow(NULL, (size_t)t->n_folders + 1, sizeof *inodes->list);
        for (uint32_t i = 0; i < t->n_folders; i++) {
            if (!(t->folders[i].flags & TREE_FREE))
                inodes->list[inodes->count++] = t->folders[i].id.inode;
        }
        qsort(inodes->list, inodes->count, sizeof *inodes->list, compare_inodes);
    }
    return bsearch(&inode, inodes->list, inodes->count, sizeof inode, compare_inodes);
}

/* Links can be removed by a command, and where other rules hold, what is not found may only be open. */
static bool is_vanished(const struct tree *t, struct inodes *inodes, const struct tree_known *k)
{
    return k->path != 0 && k->around != 0 && !k->carried && !k->led && k->type != TYPE_SYMLINK &&
           !has_folder(t, inodes, k->around) && !tree_holds(t, k->name, &k->id);
}

/* *ret_same becomes false where one is lost that was not. */
static uint32_t keep_lost(struct tree *t, const struct tree *now, struct tree_known *to,
                          uint32_t count, bool settled, bool *ret_same)
{
    uint32_t lost = 0;
    CLEANUP(inodes_done) struct inodes inodes = {0};
    t->vanished = 0;
    for (uint32_t i = 0; i < t->n_known && lost < LOST_MAX; i++) {
        const struct tree_known *k = &t->known[i];
        if (tree_find_id(now, k->name, &k->id) != TREE_NONE)
            continue;
        /* Each is looked for in the whole tree. */
        bool vanished = !settled && (t->vanished >= VANISHED_MAX || is_vanished(t, &inodes, k));
        t->vanished += vanished;
        to[count + lost] = vanished ? *k : without_path(k);
        *ret_same &= to[count + lost++].path == k->path;
    }
    return count + lost;
}

/* Where it is counts as well: what replaces it there is known by its path (guard_known.h). */
static bool is_as_before(const struct tree *t, const struct tree_known *k)
{
    uint32_t at = tree_find_known(t, k);
    return at != TREE_NONE && t->known[at].path == k->path && t->known[at].apart == k->apart;
}

bool guarded_remember(struct tree *t, struct guarded_list *list, uint64_t generation, bool settled)
{
    struct tree now = {.seed = t->seed};
    size_t room = (size_t)list->count + t->n_known + 1;
    struct tree_known *known = mem_grow(NULL, room, sizeof *known);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].known)
            known[count++] = known_of(t, list, &list->items[i]);
    }
    tree_set_known(&now, known, count);
    uint32_t next = 0;
    bool same = count == t->n_known;
    bool complete = is_guarded_complete(t, list);
    for (uint32_t i = 0; i < list->count; i++) {
        if (!list->items[i].known)
            continue;
        same = same && is_as_before(t, &known[next]);
        date(t, &now, &known[next], generation, complete);
        list->items[i].seen = known[next].seen;
        list->items[i].replaced = known[next++].replaced;
    }
    count = keep_lost(t, &now, known, count, settled, &same);
    same = same && count == t->n_known;
    now.known = NULL;
    tree_done(&now);
    tree_set_known(t, known, count);
    return !same;
}
