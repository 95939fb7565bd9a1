#include "work/guard_tree.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define NAMES_MAX ((size_t)1 << 30)
/* An entry has a name of up to 255 bytes, as a folder and as a mark. */
#define NAMES_OF_ONE 512
#define NAMES_UNUSED_MAX ((size_t)1 << 20)

#define COARSE_NS 20000000
/* Some file systems keep whole seconds, or every second one. */
#define COARSEST_NS 2000000000

bool tree_time_is_new(const struct tree_time *changed, const struct timespec *looked)
{
    int64_t coarse = changed->nsec == 0 ? COARSEST_NS : COARSE_NS;
    /* A damaged disk may name any time: no difference is taken before the two are known to be close. */
    if (changed->sec == 0 || changed->sec > looked->tv_sec)
        return true;
    if (changed->sec < looked->tv_sec - 3)
        return false;
    int64_t age = (looked->tv_sec - changed->sec) * 1000000000 + looked->tv_nsec - changed->nsec;
    return age < coarse;
}

int64_t tree_time_latest(int64_t sec, uint32_t nsec)
{
    int64_t ns;
    if (__builtin_mul_overflow(sec, 1000000000, &ns) ||
        __builtin_add_overflow(ns, nsec ? nsec : COARSEST_NS - 1, &ns))
        return sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

struct tree_time tree_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return (struct tree_time){at.tv_sec, at.tv_nsec};
}

void tree_init(struct tree *t, uint64_t seed)
{
    *t = (struct tree){.free_folder = TREE_NONE, .free_mark = TREE_NONE, .seed = seed};
    buf_init(&t->names, NAMES_MAX);
}

void tree_done(struct tree *t)
{
    free(t->folders);
    free(t->marks);
    free(t->known);
    free(t->by_name.slots);
    free(t->by_id.slots);
    free(t->by_path.slots);
    buf_done(&t->names);
    *t = (struct tree){0};
}

static bool is_tree_list_full(uint32_t count)
{
    return count < 64 ? count == 0 : (count & (count - 1)) == 0;
}

static size_t next_room(uint32_t count)
{
    return count < 64 ? 64 : (size_t)2 * count;
}

static void *room_for_one(void *list, uint32_t count, size_t size)
{
    return is_tree_list_full(count) ? mem_grow(list, next_room(count), size) : list;
}

static bool try_room(void **list, uint32_t count, uint32_t unused, size_t size)
{
    if (unused != TREE_NONE || !is_tree_list_full(count))
        return true;
    void *more = reallocarray(*list, next_room(count), size);
    if (more)
        *list = more;
    return more;
}

bool tree_make_room(struct tree *t)
{
    void *folders = t->folders;
    void *marks = t->marks;
    bool made = try_room(&folders, t->n_folders, t->free_folder, sizeof *t->folders) &&
                try_room(&marks, t->n_marks, t->free_mark, sizeof *t->marks);
    t->folders = folders;
    t->marks = marks;
    if (made && buf_reserve(&t->names, NAMES_OF_ONE) == 0)
        return true;
    /* Later there may be room, and nothing is lacking so far. */
    t->names.failed = t->names.no_memory = false;
    return false;
}

/* A name that is missing would be read from behind the others. */
static uint32_t add_tree_name(struct tree *t, struct str name)
{
    uint32_t at = (uint32_t)t->names.len;
    buf_must_add(&t->names, name.p, name.n);
    return at;
}

uint32_t tree_add_folder(struct tree *t, uint32_t parent, struct str name)
{
    uint32_t at = t->free_folder;
    if (at != TREE_NONE) {
        t->free_folder = t->folders[at].next;
    } else {
        t->folders = room_for_one(t->folders, t->n_folders, sizeof *t->folders);
        at = t->n_folders++;
    }
    size_t around = parent == TREE_NONE ? 0 : t->folders[parent].path_n;
    t->folders[at] = (struct tree_folder){
        .parent = parent,
        .first = TREE_NONE,
        .next = parent == TREE_NONE ? TREE_NONE : t->folders[parent].first,
        .marks = TREE_NONE,
        .name = add_tree_name(t, name),
        .watch = -1,
        .flags = TREE_READ,
        .path_n = (uint16_t)(around + (around > 0) + name.n),
        .name_n = (uint8_t)name.n,
        .kind = TREE_PLAIN,
    };
    if (parent != TREE_NONE)
        t->folders[parent].first = at;
    return at;
}

void tree_drop_marks(struct tree *t, uint32_t folder)
{
    struct tree_folder *f = &t->folders[folder];
    for (uint32_t at = f->marks, next; at != TREE_NONE; at = next) {
        next = t->marks[at].next;
        t->unused_names += t->marks[at].name_n;
        t->marks[at].next = t->free_mark;
        t->free_mark = at;
    }
    f->marks = TREE_NONE;
}

static void free_folder(struct tree *t, uint32_t at)
{
    struct tree_folder *f = &t->folders[at];
    tree_drop_marks(t, at);
    t->entries -= f->entries;
    t->closed -= (f->flags & (TREE_CLOSED | TREE_TOO_LONG)) != 0;
    t->unused_names += f->name_n;
    f->flags = TREE_FREE;
    f->first = TREE_NONE;
    f->next = t->free_folder;
    t->free_folder = at;
}

/* The deepest first: each takes itself out of its parent's list. */
void tree_drop_folder(struct tree *t, uint32_t top)
{
    uint32_t at = top;
    for (;;) {
        if (t->folders[at].first != TREE_NONE) {
            at = t->folders[at].first;
            continue;
        }
        uint32_t parent = t->folders[at].parent;
        uint32_t next = t->folders[at].next;
        free_folder(t, at);
        if (at == top)
            return;
        t->folders[parent].first = next;
        at = parent;
    }
}

void tree_empty_folder(struct tree *t, uint32_t folder)
{
    uint32_t at = t->folders[folder].first;
    t->folders[folder].first = TREE_NONE;
    for (uint32_t next; at != TREE_NONE; at = next) {
        next = t->folders[at].next;
        tree_drop_folder(t, at);
    }
    tree_drop_marks(t, folder);
}

struct tree_mark *tree_add_mark(struct tree *t, uint32_t folder, struct str name)
{
    uint32_t at = t->free_mark;
    if (at != TREE_NONE) {
        t->free_mark = t->marks[at].next;
    } else {
        t->marks = room_for_one(t->marks, t->n_marks, sizeof *t->marks);
        at = t->n_marks++;
    }
    t->marks[at] = (struct tree_mark){.next = t->folders[folder].marks,
                                      .name = add_tree_name(t, name),
                                      .name_n = (uint8_t)name.n};
    t->folders[folder].marks = at;
    return &t->marks[at];
}

struct str tree_name(const struct tree *t, uint32_t at, uint8_t n)
{
    return (struct str){n ? t->names.data + at : "", n};
}

void tree_tidy(struct tree *t)
{
    if (t->unused_names < NAMES_UNUSED_MAX || t->unused_names < t->names.len / 2)
        return;
    struct buf names = BUF_INIT(NAMES_MAX);
    if (buf_reserve(&names, t->names.len) < 0)
        return; /* the next time, perhaps */
    for (uint32_t i = 0; i < t->n_folders; i++) {
        struct tree_folder *f = &t->folders[i];
        if (f->flags & TREE_FREE)
            continue;
        uint32_t at = (uint32_t)names.len;
        struct str name = tree_name(t, f->name, f->name_n);
        buf_add(&names, name.p, name.n);
        f->name = at;
        for (uint32_t k = f->marks; k != TREE_NONE; k = t->marks[k].next) {
            at = (uint32_t)names.len;
            buf_add(&names, t->names.data + t->marks[k].name, t->marks[k].name_n);
            t->marks[k].name = at;
        }
    }
    buf_done(&t->names);
    t->names = names;
    t->unused_names = 0;
}

size_t tree_path(const struct tree *t, uint32_t folder, char *path)
{
    size_t n = t->folders[folder].path_n;
    path[n] = '\0';
    for (uint32_t at = folder; t->folders[at].parent != TREE_NONE; at = t->folders[at].parent) {
        const struct tree_folder *f = &t->folders[at];
        memcpy(path + f->path_n - f->name_n, t->names.data + f->name, f->name_n);
        if (f->path_n > f->name_n)
            path[f->path_n - f->name_n - 1] = '/';
    }
    return n;
}

static uint32_t find_child(const struct tree *t, uint32_t folder, struct str name)
{
    uint32_t at = t->folders[folder].first;
    while (at != TREE_NONE && (t->folders[at].name_n != name.n ||
                               memcmp(t->names.data + t->folders[at].name, name.p, name.n) != 0))
        at = t->folders[at].next;
    return at;
}

uint32_t tree_find(const struct tree *t, struct str path)
{
    uint32_t at = t->n_folders ? 0 : TREE_NONE;
    while (path.n && at != TREE_NONE) {
        const char *slash = memchr(path.p, '/', path.n);
        size_t n = slash ? (size_t)(slash - path.p) : path.n;
        at = find_child(t, at, (struct str){path.p, n});
        n += slash != NULL;
        path = (struct str){path.p + n, path.n - n};
    }
    return at;
}

bool tree_is_part_of_git(struct str name)
{
    static const char *const parts[] = {"HEAD",    "config",      "hooks",     "info",
                                        "objects", "packed-refs", "commondir", "refs"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_is(name, parts[i]))
            return true;
    }
    return false;
}

uint64_t tree_hash(const struct tree *t, struct str text)
{
    uint64_t hash = t->seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15u;
}

static void table_make(struct tree_table *table, uint32_t count)
{
    uint32_t size = 16;
    while (size < 2 * count)
        size *= 2;
    free(table->slots);
    table->slots = mem_grow(NULL, size, sizeof *table->slots);
    table->mask = size - 1;
    for (uint32_t i = 0; i < size; i++)
        table->slots[i] = TREE_NONE;
}

static void table_add(struct tree_table *table, uint64_t hash, uint32_t value)
{
    uint32_t at = (uint32_t)(hash >> 32) & table->mask;
    while (table->slots[at] != TREE_NONE)
        at = (at + 1) & table->mask;
    table->slots[at] = value;
}

/* Many files may have one name; their inodes tell them apart. */
static uint64_t id_hash(uint64_t name, uint64_t inode)
{
    uint64_t hash = (name ^ inode) * 0x9e3779b97f4a7c15u;
    return hash ^ hash << 29;
}

bool tree_knows_name(const struct tree *t, uint64_t name)
{
    const struct tree_table *table = &t->by_name;
    if (!table->slots)
        return false;
    for (uint32_t at = (uint32_t)(name >> 32) & table->mask; table->slots[at] != TREE_NONE;
         at = (at + 1) & table->mask) {
        if (t->known[table->slots[at]].name == name)
            return true;
    }
    return false;
}

void tree_set_known(struct tree *t, struct tree_known *known, uint32_t count)
{
    free(t->known);
    t->known = known;
    t->n_known = count;
    table_make(&t->by_name, count);
    table_make(&t->by_id, count);
    table_make(&t->by_path, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!tree_knows_name(t, known[i].name))
            table_add(&t->by_name, known[i].name, i);
        table_add(&t->by_id, id_hash(known[i].name, known[i].id.inode), i);
        table_add(&t->by_path, known[i].path, i);
    }
}

uint32_t tree_find_id(const struct tree *t, uint64_t name, const struct tree_id *id)
{
    const struct tree_table *table = &t->by_id;
    if (!table->slots)
        return TREE_NONE;
    for (uint32_t at = (uint32_t)(id_hash(name, id->inode) >> 32) & table->mask;
         table->slots[at] != TREE_NONE; at = (at + 1) & table->mask) {
        const struct tree_known *known = &t->known[table->slots[at]];
        if (known->name == name && tree_same_id(&known->id, id))
            return table->slots[at];
    }
    return TREE_NONE;
}

static bool marks_hold(const struct tree *t, uint32_t at, uint64_t name, const struct tree_id *id)
{
    for (; at != TREE_NONE; at = t->marks[at].next) {
        const struct tree_mark *mark = &t->marks[at];
        if (tree_same_id(&mark->id, id) &&
            tree_hash(t, tree_name(t, mark->name, mark->name_n)) == name)
            return true;
    }
    return false;
}

bool tree_holds(const struct tree *t, uint64_t name, const struct tree_id *id)
{
    for (uint32_t i = 0; i < t->n_folders; i++) {
        const struct tree_folder *f = &t->folders[i];
        if (f->flags & TREE_FREE)
            continue;
        if (tree_same_id(&f->id, id) && tree_hash(t, tree_name(t, f->name, f->name_n)) == name)
            return true;
        if (marks_hold(t, f->marks, name, id))
            return true;
    }
    return false;
}

uint32_t tree_find_known(const struct tree *t, const struct tree_known *k)
{
    const struct tree_table *table = &t->by_id;
    if (!table->slots)
        return TREE_NONE;
    for (uint32_t at = (uint32_t)(id_hash(k->name, k->id.inode) >> 32) & table->mask;
         table->slots[at] != TREE_NONE; at = (at + 1) & table->mask) {
        const struct tree_known *known = &t->known[table->slots[at]];
        if (known->name == k->name && tree_same_id(&known->id, &k->id) &&
            (k->type != TYPE_SYMLINK || known->around == k->around))
            return table->slots[at];
    }
    return TREE_NONE;
}

uint32_t tree_find_path(const struct tree *t, uint64_t path)
{
    const struct tree_table *table = &t->by_path;
    if (!table->slots)
        return TREE_NONE;
    for (uint32_t at = (uint32_t)(path >> 32) & table->mask; table->slots[at] != TREE_NONE;
         at = (at + 1) & table->mask) {
        if (t->known[table->slots[at]].path == path)
            return table->slots[at];
    }
    return TREE_NONE;
}
