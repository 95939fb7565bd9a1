#include "core/glob.h"

#include <string.h>

#include "base/mem.h"
#include "core/glob_program.h"

/* Making a table takes about as long as this many matches without one. */
#define USED_OFTEN 16

static void add_node_to_set(uint64_t *set, uint32_t node)
{
    set[node / 64] |= (uint64_t)1 << node % 64;
}

static unsigned highest(uint64_t word)
{
    return 63 - (unsigned)__builtin_clzll(word);
}

void glob_close(const struct glob *glob, uint64_t *set)
{
    for (uint32_t w = glob->words; w-- > 0;) {
        for (uint64_t left = set[w]; left;) {
            unsigned bit = highest(left);
            const struct glob_node *node = &glob->nodes[w * 64 + bit];
            add_node_to_set(set, node->free[0]);
            add_node_to_set(set, node->free[1]);
            left = set[w] & (((uint64_t)1 << bit) - 1);
        }
    }
}

static bool is_in_glob_set(const struct glob *glob, const struct glob_node *node, uint32_t c)
{
    if (c == '/')
        return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct glob_range *range = &glob->ranges[node->value + i];
        if (c >= range->low && c <= range->high)
            return !node->negated;
    }
    return node->negated;
}

static void move_one(const struct glob *glob, uint32_t id, uint32_t c, uint64_t *next)
{
    const struct glob_node *node = &glob->nodes[id];
    switch (node->kind) {
    case NODE_EPSILON:
    case NODE_ACCEPT:
        return;
    case NODE_CHAR:
        if (c == node->value)
            add_node_to_set(next, node->out);
        return;
    case NODE_ANY:
        if (c != '/')
            add_node_to_set(next, node->out);
        return;
    case NODE_SET:
        if (is_in_glob_set(glob, node, c))
            add_node_to_set(next, node->out);
        return;
    case NODE_STAR:
        if (c != '/')
            add_node_to_set(next, id);
        return;
    case NODE_DEEP:
        if (c == '/')
            add_node_to_set(next, node->out);
        add_node_to_set(next, id);
        return;
    case NODE_TAIL:
        add_node_to_set(next, id);
        return;
    }
}

void glob_move(const struct glob *glob, const uint64_t *set, uint32_t c, uint64_t *next)
{
    memset(next, 0, glob->words * sizeof *next);
    for (uint32_t w = 0; w < glob->words; w++) {
        for (uint64_t left = set[w]; left; left &= left - 1)
            move_one(glob, w * 64 + (unsigned)__builtin_ctzll(left), c, next);
    }
}

/* The row of the table after `text`. */
static uint32_t follow_table(const struct glob *glob, struct str text)
{
    const struct glob_table *t = glob->table;
    uint32_t row = t->start;
    for (size_t i = 0; i < text.n && row;) {
        unsigned char byte = (unsigned char)text.p[i];
        uint32_t class;
        if (byte < 0x80) {
            class = t->ascii[byte];
            i++;
        } else {
            size_t length;
            class = glob_table_class(t,
                                     glob_character(glob->bytes, text.p + i, text.n - i, &length));
            i += length;
        }
        row = t->cells[row + class];
    }
    return row;
}

static bool is_empty_node_set(const struct glob *glob, const uint64_t *set)
{
    uint64_t any = set[0] & ~((uint64_t)1 << GLOB_DEAD);
    for (uint32_t w = 1; w < glob->words; w++)
        any |= set[w];
    return any == 0;
}

/* Whether `text` matches or, with `beneath`, something that begins with it and a slash may. Nodes that
 * lead nowhere were left out, so any that is reached leads to a match. */
static bool follow_nodes(const struct glob *glob, struct str text, bool beneath)
{
    uint64_t sets[2][GLOB_WORDS_MAX];
    uint64_t *now = sets[0];
    uint64_t *next = sets[1];
    memset(now, 0, glob->words * sizeof *now);
    add_node_to_set(now, glob->start);
    glob_close(glob, now);
    for (size_t i = 0; i < text.n + beneath;) {
        size_t length = 1;
        uint32_t c = i < text.n ? glob_character(glob->bytes, text.p + i, text.n - i, &length)
                                : '/';
        i += length;
        glob_move(glob, now, c, next);
        if (is_empty_node_set(glob, next))
            return false;
        glob_close(glob, next);
        uint64_t *swap = now;
        now = next;
        next = swap;
    }
    return beneath || (now[0] >> GLOB_ACCEPT & 1);
}

static struct str without_slash(struct str path)
{
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

bool glob_match(const struct glob *glob, struct str path)
{
    const struct glob_table *t = glob->table;
    path = without_slash(path);
    if (path.n == 0 || path.n < glob->suffix_length)
        return false;
    if (memcmp(path.p + path.n - glob->suffix_length, glob->suffix, glob->suffix_length) != 0)
        return false;
    return t ? t->cells[follow_table(glob, path) + t->width - 1] : follow_nodes(glob, path, false);
}

bool glob_may_match_beneath(const struct glob *glob, struct str folder)
{
    const struct glob_table *t = glob->table;
    folder = without_slash(folder);
    if (folder.n == 0 || (folder.n == 1 && folder.p[0] == '.'))
        return true;
    return t ? t->cells[follow_table(glob, folder) + t->ascii['/']] != 0
             : follow_nodes(glob, folder, true);
}

struct str glob_fixed_prefix(const struct glob *glob)
{
    return (struct str){glob->prefix, glob->prefix_length};
}

bool glob_folders_only(const struct glob *glob)
{
    return glob->folders_only;
}

struct str glob_folder(struct str pattern)
{
    size_t folder = 0;
    for (size_t i = 0; i < pattern.n && !strchr("*?[{\\", pattern.p[i]); i++) {
        if (pattern.p[i] == '/')
            folder = i + 1;
    }
    return (struct str){pattern.p, folder};
}

bool glob_is_pattern(struct str text)
{
    static const char special[] = {'*', '?', '[', '{', '\\'};
    for (size_t i = 0; i < text.n; i++) {
        if (memchr(special, text.p[i], sizeof special))
            return true;
    }
    return false;
}

static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80 || c >= GLOB_BYTE) {
        out[0] = (char)(c < 0x80 ? c : c - GLOB_BYTE);
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xffu) | c);
    return n;
}

/* Characters that every match begins with, as far as their last slash. */
static void find_prefix(struct glob *glob, size_t most)
{
    glob->prefix = mem_zero(most + 4);
    size_t n = 0;
    const struct glob_node *node = &glob->nodes[glob->start];
    while (node->kind == NODE_CHAR && !node->free[0]) {
        if (node->value == '/')
            glob->prefix_length = n;
        n += encode(node->value, glob->prefix + n);
        node = &glob->nodes[node->out];
    }
}

static void find_suffix(struct glob *glob, const struct glob_source *source)
{
    glob->suffix = mem_zero(source->text.n + 4);
    for (uint32_t i = source->tail; i && i + 1 < source->count; i++)
        glob->suffix_length += encode(source->instrs[i].value, glob->suffix + glob->suffix_length);
}

struct how {
    bool anywhere;
    bool lean;
    bool bytes;
};

static struct glob *compile_glob(struct str pattern, struct how how, struct err *err)
{
    struct glob_source source CLEANUP(glob_source_done) = {.bytes = how.bytes};
    if (glob_parse(pattern, &source, err) < 0)
        return NULL;
    GLOB_AT_END struct glob *glob = mem_zero(sizeof *glob);
    if (glob_build(&source, how.anywhere, glob, err) < 0)
        return NULL;
    glob->bytes = how.bytes;
    glob->ranges = TAKE_PTR(source.ranges);
    glob->table = how.lean ? NULL : glob_table_new(glob);
    find_prefix(glob, pattern.n);
    find_suffix(glob, &source);
    return TAKE_PTR(glob);
}

struct glob *glob_compile(struct str pattern, bool anywhere, struct err *err)
{
    return compile_glob(pattern, (struct how){.anywhere = anywhere}, err);
}

struct glob *glob_compile_lean(struct str pattern, struct err *err)
{
    return compile_glob(pattern, (struct how){.lean = true}, err);
}

struct glob *glob_compile_bytes(struct str pattern, struct err *err)
{
    return compile_glob(pattern, (struct how){.bytes = true}, err);
}

void glob_used(struct glob *glob)
{
    if (glob->used <= USED_OFTEN && glob->used++ == USED_OFTEN && !glob->table)
        glob->table = glob_table_new(glob);
}

void glob_free(struct glob *glob)
{
    if (!glob)
        return;
    free(glob->nodes);
    free(glob->ranges);
    free(glob->table);
    free(glob->prefix);
    free(glob->suffix);
    free(glob);
}
