#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "work/frontmatter_parts.h"

#define SHOWN_MAX 40

int str_shown(struct str text)
{
    return (int)(text.n > SHOWN_MAX ? utf8_cut(text.p, SHOWN_MAX) : text.n);
}

static int bad_change(struct err *err, struct str key, const char *what)
{
    char field[64];
    snprintf(field, sizeof field, "update.%.*s", str_shown(key), key.p);
    return err_field(err, field, "`update.%.*s` %s", str_shown(key), key.p, what);
}

static int take_action(struct change *change, enum change_action action, yyjson_val *value,
                       struct err *err)
{
    if (change->value)
        return bad_change(err, change->key, "has more than one of set, append, merge and remove");
    change->action = action;
    change->value = value;
    return 0;
}

static int read_change_member(struct change *change, struct str name, yyjson_val *value,
                              struct err *err)
{
    if (str_is(name, "set"))
        return take_action(change, CHANGE_SET, value, err);
    if (str_is(name, "append"))
        return take_action(change, CHANGE_APPEND, value, err);
    if (str_is(name, "merge")) {
        if (!yyjson_is_obj(value))
            return bad_change(err, change->key, "needs an object to merge");
        return take_action(change, CHANGE_MERGE, value, err);
    }
    if (str_is(name, "remove")) {
        if (!yyjson_is_true(value))
            return bad_change(err, change->key, "takes only true for remove");
        return take_action(change, CHANGE_REMOVE, value, err);
    }
    if (str_is(name, "unique")) {
        if (!yyjson_is_bool(value))
            return bad_change(err, change->key, "takes only true or false for unique");
        change->unique = yyjson_get_bool(value);
        return 0;
    }
    return bad_change(err, change->key,
                      "has a member that is none of set, append, unique, merge and remove");
}

static int read_change(struct change *change, yyjson_val *value, struct err *err)
{
    size_t index;
    size_t max;
    yyjson_val *name;
    yyjson_val *member;
    if (!yyjson_is_obj(value))
        return bad_change(err, change->key, "must be an object such as {\"set\": VALUE}");
    yyjson_obj_foreach(value, index, max, name, member) {
        if (read_change_member(change, json_str(name), member, err) < 0)
            return -1;
    }
    if (!change->value)
        return bad_change(err, change->key, "needs one of set, append, merge and remove");
    if (yyjson_obj_get(value, "unique") && change->action != CHANGE_APPEND)
        return bad_change(err, change->key, "has unique without append");
    if (!yaml_can_write_key(change->key))
        return bad_change(err, change->key, "is too long for a key");
    if (!yaml_can_write(change->value))
        return bad_change(err, change->key, "is nested too deeply, or has a key that is too long");
    return 0;
}

int changes_read(struct changes *changes, yyjson_val *update, struct err *err)
{
    size_t index;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    *changes = (struct changes){0};
    if (!yyjson_is_obj(update) || yyjson_obj_size(update) == 0)
        return err_field(err, "update",
                         "`update` must be an object with a member for each key to change");
    changes->items = mem_zero(yyjson_obj_size(update) * sizeof *changes->items);
    yyjson_obj_foreach(update, index, max, key, value) {
        struct change *change = &changes->items[changes->count++];
        change->key = json_str(key);
        if (read_change(change, value, err) < 0)
            return -1;
    }
    return 0;
}

void changes_done(struct changes *changes)
{
    free(changes->items);
}

static int compare_entry_keys(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int r = str_compare(x->key, y->key);
    return r ? r : (x->key_node > y->key_node) - (x->key_node < y->key_node);
}

static int compare_key(const void *key, const void *entry)
{
    return str_compare(*(const struct str *)key, ((const struct entry *)entry)->key);
}

int entries_read(struct entries *entries, const struct yaml_tree *tree, uint32_t mapping,
                 struct err *err)
{
    const struct yaml_node *node = &tree->nodes[mapping];
    uint32_t at = mapping + 1;
    *entries = (struct entries){mem_grow(NULL, node->children / 2, sizeof *entries->items), 0};
    for (uint32_t i = 0; i < node->children / 2; i++) {
        uint32_t value = at + tree->nodes[at].size;
        if (tree->nodes[at].kind == YAML_SCALAR)
            entries->items[entries->count++] = (struct entry){tree->nodes[at].text, at, value};
        at = value + tree->nodes[value].size;
    }
    qsort(entries->items, entries->count, sizeof *entries->items, compare_entry_keys);
    for (size_t i = 1; i < entries->count; i++) {
        const struct entry *e = &entries->items[i];
        if (str_compare(e[-1].key, e->key) == 0)
            return err_set(err, ERR_INVALID_FRONTMATTER,
                           "line %u of the front matter: the key `%.*s` is there already",
                           yaml_line_number(tree->source, tree->nodes[e->key_node].start),
                           str_shown(e->key), e->key.p);
    }
    return 0;
}

void entries_done(struct entries *entries)
{
    free(entries->items);
}

const struct entry *entries_find(const struct entries *entries, struct str key)
{
    return bsearch(&key, entries->items, entries->count, sizeof *entries->items, compare_key);
}
