#include "work/guard_index.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define MAGIC 0x5849473156454753u /* another order of bytes reads as another number */
#define VERSION 3u

struct head {
    uint64_t magic;
    uint64_t checksum; /* of everything behind it */
    uint32_t version;
    uint32_t n_folders;
    uint32_t n_marks;
    uint32_t n_known;
    uint64_t n_names; /* bytes */
    uint64_t seed;
    struct tree_time saved;
    char rules[HASH_HEX];
};

/* Against damage, not against people: only the cell can write there. */
static uint64_t sum_guard_index(const char *bytes, size_t n)
{
    uint64_t sum = n;
    for (; n >= 8; bytes += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (; n > 0; bytes++, n--)
        sum = (sum ^ (unsigned char)*bytes) * 0x100000001b3u;
    return sum;
}

/* Folders in the order of a walk: each behind the one it lies in. */
struct writing {
    const struct tree *tree;
    struct tree_folder *folders;
    struct tree_mark *marks;
    uint32_t n_folders;
    uint32_t n_marks;
    struct buf names;
};

static void index_writing_done(struct writing *w)
{
    free(w->folders);
    free(w->marks);
    buf_done(&w->names);
}

static uint32_t copy_index_name(struct writing *w, uint32_t at, uint8_t n)
{
    uint32_t to = (uint32_t)w->names.len;
    struct str name = tree_name(w->tree, at, n);
    buf_add(&w->names, name.p, name.n);
    return to;
}

static void copy_index_folder(struct writing *w, uint32_t from, uint32_t parent)
{
    const struct tree *t = w->tree;
    struct tree_folder *to = &w->folders[w->n_folders++];
    *to = t->folders[from];
    to->parent = parent;
    to->name = copy_index_name(w, to->name, to->name_n);
    to->first = to->next = TREE_NONE;
    to->watch = -1;
    if (to->flags & (TREE_READ | TREE_FOREIGN))
        to->changed = (struct tree_time){0};
    to->flags &= TREE_KEPT;
    uint32_t *last = &to->marks;
    for (uint32_t at = to->marks; at != TREE_NONE; at = t->marks[at].next) {
        struct tree_mark *mark = &w->marks[w->n_marks];
        *mark = t->marks[at];
        mark->name = copy_index_name(w, mark->name, mark->name_n);
        *last = w->n_marks++;
        last = &mark->next;
    }
}

static void copy_all(struct writing *w)
{
    const struct tree *t = w->tree;
    uint32_t at = 0;
    uint32_t parent = TREE_NONE; /* as it is numbered in the copy */
    while (at != TREE_NONE) {
        copy_index_folder(w, at, parent);
        if (t->folders[at].first != TREE_NONE) {
            parent = w->n_folders - 1;
            at = t->folders[at].first;
            continue;
        }
        while (at != 0 && t->folders[at].next == TREE_NONE) {
            at = t->folders[at].parent;
            parent = at == 0 ? TREE_NONE : w->folders[parent].parent;
        }
        at = at == 0 ? TREE_NONE : t->folders[at].next;
    }
}

void index_seal(struct buf *index)
{
    const size_t skipped = offsetof(struct head, version);
    if (index->len < sizeof(struct head))
        return;
    uint64_t sum = sum_guard_index(index->data + skipped, index->len - skipped);
    memcpy(index->data + offsetof(struct head, checksum), &sum, sizeof sum);
}

int index_write(const struct tree *t, const char *rules, const struct tree_time *now,
                struct buf *out)
{
    CLEANUP(index_writing_done)
    struct writing w = {.tree = t, .names = BUF_INIT(INDEX_BYTES_MAX)};
    w.folders = mem_grow(NULL, (size_t)t->n_folders + 1, sizeof *w.folders);
    w.marks = mem_grow(NULL, (size_t)t->n_marks + 1, sizeof *w.marks);
    if (t->n_folders)
        copy_all(&w);
    struct head head = {.magic = MAGIC,
                        .version = VERSION,
                        .n_folders = w.n_folders,
                        .n_marks = w.n_marks,
                        .n_known = t->n_known,
                        .n_names = w.names.len,
                        .seed = t->seed,
                        .saved = *now};
    memcpy(head.rules, rules, strnlen(rules, HASH_HEX));
    buf_add(out, &head, sizeof head);
    buf_add(out, w.folders, w.n_folders * sizeof *w.folders);
    buf_add(out, w.marks, w.n_marks * sizeof *w.marks);
    if (t->n_known)
        buf_add(out, t->known, t->n_known * sizeof *t->known);
    if (w.names.len)
        buf_add(out, w.names.data, w.names.len);
    if (out->failed || w.names.failed)
        return -1;
    index_seal(out);
    return 0;
}

static bool is_guard_index_name(const struct tree *t, uint32_t at, uint8_t n)
{
    if (n == 0 || at > t->names.len || t->names.len - at < n)
        return false;
    struct str name = tree_name(t, at, n);
    return !memchr(name.p, '/', n) && !memchr(name.p, '\0', n) && !str_is(name, ".") &&
           !str_is(name, "..");
}

static bool is_kind(uint8_t kind)
{
    return kind < GUARDED_KINDS || kind == TREE_PLAIN;
}

/* Also puts it into its parent's list: from the last to the first, so that the order stays. */
static bool take_index_folder(struct tree *t, uint32_t at)
{
    struct tree_folder *f = &t->folders[at];
    /* The root is never guarded itself. */
    if (at == 0)
        return f->parent == TREE_NONE && f->name_n == 0 && f->path_n == 0 &&
               f->kind == TREE_PLAIN && !(f->flags & (TREE_CLOSED | TREE_TOO_LONG));
    if (f->parent >= at || !is_guard_index_name(t, f->name, f->name_n) || !is_kind(f->kind))
        return false;
    struct tree_folder *parent = &t->folders[f->parent];
    f->next = parent->first;
    parent->first = at;
    return true;
}

static bool check_index_folder(struct tree *t, uint32_t at)
{
    struct tree_folder *f = &t->folders[at];
    size_t around = at ? t->folders[f->parent].path_n : 0;
    size_t n = at ? around + (around > 0) + f->name_n : 0;
    bool closed = f->flags & (TREE_CLOSED | TREE_TOO_LONG);
    if (f->path_n != n || n >= PATH_TEXT_MAX || (around > TREE_PATH_MAX) ||
        (f->flags & ~(unsigned)TREE_KEPT))
        return false;
    t->entries += f->entries;
    t->closed += closed;
    return !closed || f->first == TREE_NONE;
}

/* Each mark belongs to one folder, and they stand in the order of their folders. */
static bool take_index_marks(struct tree *t)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < t->n_folders; i++) {
        for (uint32_t at = t->folders[i].marks; at != TREE_NONE; at = t->marks[at].next) {
            if (at != taken || taken == t->n_marks)
                return false;
            const struct tree_mark *mark = &t->marks[taken++];
            if (!is_guard_index_name(t, mark->name, mark->name_n) || !is_kind(mark->kind) ||
                mark->type > TYPE_OTHER)
                return false;
        }
    }
    return taken == t->n_marks;
}

static bool take_index_tree(struct tree *t, struct tree_known *known, uint32_t n_known)
{
    for (uint32_t i = t->n_folders; i-- > 0;) {
        t->folders[i].first = TREE_NONE;
        t->folders[i].next = TREE_NONE;
        t->folders[i].watch = -1;
    }
    for (uint32_t i = t->n_folders; i-- > 0;) {
        if (!take_index_folder(t, i))
            return false;
    }
    for (uint32_t i = 0; i < t->n_folders; i++) {
        if (!check_index_folder(t, i))
            return false;
    }
    for (uint32_t i = 0; i < n_known; i++) {
        if (known[i].kind >= GUARDED_KINDS || known[i].type > TYPE_OTHER)
            return false;
        known[i].seen = known[i].replaced = 0;
    }
    return take_index_marks(t);
}

static void *take_list(struct str *rest, uint32_t count, size_t size)
{
    /* Room as for lists that grow by doubling. */
    size_t room = 64;
    while (room < count)
        room *= 2;
    void *list = mem_grow(NULL, room, size);
    memcpy(list, rest->p, count * size);
    rest->p += count * size;
    rest->n -= count * size;
    return list;
}

/* All but the checksum. */
static bool is_complete_index(struct str bytes, const struct head *head)
{
    uint64_t length = sizeof *head + (uint64_t)head->n_folders * sizeof(struct tree_folder) +
                      (uint64_t)head->n_marks * sizeof(struct tree_mark) +
                      (uint64_t)head->n_known * sizeof(struct tree_known);
    return head->n_folders > 0 && length <= bytes.n && bytes.n - length == head->n_names;
}

static bool has_guard_index_checksum(struct str bytes, const struct head *head)
{
    const size_t skipped = offsetof(struct head, version);
    return sum_guard_index(bytes.p + skipped, bytes.n - skipped) == head->checksum;
}

static bool copy_head(struct str bytes, struct head *ret)
{
    if (bytes.n < sizeof *ret || bytes.n > INDEX_BYTES_MAX)
        return false;
    memcpy(ret, bytes.p, sizeof *ret);
    return ret->magic == MAGIC;
}

static bool read_head(struct str bytes, const char *rules, const struct tree_time *now,
                      struct head *ret)
{
    if (!copy_head(bytes, ret))
        return false;
    bool set_back = now && (now->sec < ret->saved.sec ||
                            (now->sec == ret->saved.sec && now->nsec < ret->saved.nsec));
    return ret->version == VERSION && is_complete_index(bytes, ret) &&
           (!rules || memcmp(ret->rules, rules, HASH_HEX) == 0) && !set_back &&
           has_guard_index_checksum(bytes, ret);
}

bool index_is_whole(struct str bytes)
{
    struct head head;
    return copy_head(bytes, &head) &&
           (head.version != VERSION ||
            (is_complete_index(bytes, &head) && has_guard_index_checksum(bytes, &head)));
}

bool index_read(struct str bytes, const char *rules, const struct tree_time *now, struct tree *ret)
{
    struct head head;
    struct tree t;
    char wanted[HASH_HEX] = {0};
    if (rules)
        memcpy(wanted, rules, strnlen(rules, HASH_HEX));
    if (!read_head(bytes, rules ? wanted : NULL, now, &head))
        return false;
    struct str rest = {bytes.p + sizeof head, bytes.n - sizeof head};
    tree_init(&t, head.seed);
    t.n_folders = head.n_folders;
    t.folders = take_list(&rest, head.n_folders, sizeof *t.folders);
    t.n_marks = head.n_marks;
    t.marks = take_list(&rest, head.n_marks, sizeof *t.marks);
    struct tree_known *known = take_list(&rest, head.n_known, sizeof *known);
    buf_add(&t.names, rest.p, rest.n);
    if (t.names.failed || !take_index_tree(&t, known, head.n_known)) {
        free(known);
        tree_done(&t);
        return false;
    }
    tree_set_known(&t, known, head.n_known);
    tree_done(ret);
    *ret = t;
    return true;
}
