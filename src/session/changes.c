#include "session/changes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shown.h"
#include "base/str.h"
#include "base/utf8.h"

#define LINE_SHOWN 16384

const char *const change_kind_names[] = {"added", "modified", "deleted", "renamed",
                                         "mode",  "type",     NULL};
static const char *const node_names[NODE_TYPES] = {"none", "file", "directory", "symlink", "other"};

static bool is_hashed(const struct op_node *node)
{
    static const unsigned char none[HASH_BYTES];
    return node->type == NODE_FILE && memcmp(node->sha256, none, sizeof none) != 0;
}

static bool has_same_content(const struct op_node *a, const struct op_node *b)
{
    return a->size == b->size && memcmp(a->sha256, b->sha256, HASH_BYTES) == 0 &&
           str_compare(a->target, b->target) == 0;
}

static enum change_kind kind_of(const struct op_changed *c)
{
    if (c->before.type == NODE_NONE)
        return CHANGE_ADDED;
    if (c->after.type == NODE_NONE)
        return CHANGE_DELETED;
    if (c->before.type != c->after.type)
        return CHANGE_TYPE;
    /* Of a secret neither is told. */
    bool known = c->before.type != NODE_FILE || (is_hashed(&c->before) && is_hashed(&c->after));
    return known && has_same_content(&c->before, &c->after) ? CHANGE_MODE : CHANGE_MODIFIED;
}

static int compare_changes(const void *a, const void *b)
{
    return str_compare(((const struct change *)a)->of.path, ((const struct change *)b)->of.path);
}

/* Empty files are alike without being the same. */
static bool can_be_renamed(const struct change *c, enum change_kind kind)
{
    const struct op_node *node = kind == CHANGE_DELETED ? &c->of.before : &c->of.after;
    return c->kind == kind && !c->of.unread && is_hashed(node) && node->size > 0;
}

static const struct op_node *node_with_content(const struct change *c)
{
    return c->kind == CHANGE_DELETED ? &c->of.before : &c->of.after;
}

/* By content, those that are gone first, each in the order of paths. */
static int compare_contents(const void *a, const void *b)
{
    const struct change *x = *(struct change *const *)a;
    const struct change *y = *(struct change *const *)b;
    int order = memcmp(node_with_content(x)->sha256, node_with_content(y)->sha256, HASH_BYTES);
    return order                ? order
           : x->kind != y->kind ? (x->kind == CHANGE_DELETED ? -1 : 1)
                                : compare_changes(x, y);
}

static void pair_renamed(struct change **list, size_t n)
{
    for (size_t i = 0, k; i < n; i = k) {
        size_t gone = i;
        for (k = i; k < n && memcmp(node_with_content(list[k])->sha256,
                                    node_with_content(list[i])->sha256, HASH_BYTES) == 0;
             k++)
            gone += list[k]->kind == CHANGE_DELETED;
        for (size_t at = 0; i + at < gone && gone + at < k; at++) {
            struct change *to = list[gone + at];
            to->from = list[i + at]->of.path;
            to->was = &list[i + at]->of.before;
            list[i + at]->gone = true;
            list[i + at]->to = to->of.path;
        }
    }
}

static void find_renamed_files(struct change_list *c)
{
    struct change **list = mem_zero((c->n + 1) * sizeof(struct change *));
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (can_be_renamed(&c->all[i], CHANGE_DELETED) || can_be_renamed(&c->all[i], CHANGE_ADDED))
            list[n++] = &c->all[i];
    }
    qsort(list, n, sizeof(struct change *), compare_contents);
    pair_renamed(list, n);
    for (size_t i = 0; i < n; i++) {
        if (list[i]->from.n)
            list[i]->kind = CHANGE_RENAMED;
    }
    free(list);
}

bool change_list_take(struct str body, struct change_list *ret)
{
    *ret = (struct change_list){.body = BUF_INIT(OP_BODY_MAX)};
    if (body.n && buf_add(&ret->body, body.p, body.n) < 0)
        return false;
    struct str rest = buf_str(&ret->body);
    struct op_changed one;
    int r;
    for (; (r = op_changed_next(&rest, &one)) > 0; ret->n++) {
        if ((ret->n & (ret->n - 1)) == 0)
            ret->all = mem_grow(ret->all, ret->n ? 2 * ret->n : 1, sizeof *ret->all);
        ret->all[ret->n] = (struct change){.kind = kind_of(&one), .of = one};
    }
    if (ret->n)
        qsort(ret->all, ret->n, sizeof *ret->all, compare_changes);
    for (size_t i = 0; i < ret->n; i++)
        ret->all[i].was = &ret->all[i].of.before;
    find_renamed_files(ret);
    return r == 0;
}

void change_list_done(struct change_list *c)
{
    free(c->all);
    buf_done(&c->body);
    *c = (struct change_list){.n = 0};
}

/* One that is not UTF-8 has its bytes as well. */
static void write_path_json(const char *key, const char *key_b64, struct str path,
                            struct json_out *j)
{
    jo_key(j, key);
    jo_str(j, path);
    if (utf8_valid(path.p, path.n))
        return;
    jo_key(j, key_b64);
    jo_base64(j, path);
}

static void write_node_json(const struct op_node *node, const char *key, bool secret,
                            struct json_out *j)
{
    char mode[8];
    char hex[2 * HASH_BYTES + 1];
    if (node->type == NODE_NONE)
        return;
    jo_key(j, key);
    jo_open(j, '{');
    jo_ktext(j, "type", node_names[node->type]);
    if (node->type != NODE_LINK) {
        snprintf(mode, sizeof mode, "%04o", node->mode);
        jo_ktext(j, "mode", mode);
    }
    if (node->type == NODE_FILE)
        jo_kint(j, "size", node->size);
    for (size_t i = 0; i < HASH_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", node->sha256[i]);
    if (is_hashed(node) && !secret)
        jo_ktext(j, "sha256", hex);
    if (node->type == NODE_LINK)
        write_path_json("target", "target_b64", node->target, j);
    jo_close(j, '}');
}

void change_write_json(const struct change *c, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "change", change_kind_names[c->kind]);
    write_path_json("path", "path_b64", c->of.path, j);
    if (c->from.n)
        write_path_json("from", "from_b64", c->from, j);
    write_node_json(c->was, "before", c->of.secret, j);
    write_node_json(&c->of.after, "after", c->of.secret, j);
    if (c->of.secret)
        jo_kbool(j, "secret", true);
    if (c->of.unread)
        jo_kbool(j, "unread", true);
    jo_close(j, '}');
}

static void write_change_size(const struct op_node *node, struct buf *out)
{
    if (node->type == NODE_FILE)
        buf_addf(out, "%" PRId64 " bytes", node->size);
    else
        buf_add_text(out, node_names[node->type]);
}

void change_write_line(const struct change *c, struct buf *out)
{
    buf_addf(out, "%-9s ", change_kind_names[c->kind]);
    if (c->from.n) {
        shown_line(c->from, LINE_SHOWN, out);
        buf_add_text(out, " -> ");
    }
    shown_line(c->of.path, LINE_SHOWN, out);
    buf_add_text(out, "  (");
    if (c->kind == CHANGE_MODE || c->was->mode != c->of.after.mode)
        buf_addf(out, "%04o, ", c->kind == CHANGE_DELETED ? c->was->mode : c->of.after.mode);
    if (c->kind == CHANGE_MODIFIED || c->kind == CHANGE_TYPE) {
        write_change_size(c->was, out);
        buf_add_text(out, " -> ");
    }
    write_change_size(c->kind == CHANGE_DELETED ? c->was : &c->of.after, out);
    buf_addf(out, "%s%s)\n", c->of.secret ? ", secret" : "",
             c->of.unread ? ", cannot be looked into" : "");
}
