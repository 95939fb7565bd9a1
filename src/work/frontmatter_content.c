#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "work/frontmatter_parts.h"

void content_of_value(struct content *content, yyjson_val *value)
{
    size_t index;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    size_t count = yyjson_get_len(value);
    *content = (struct content){.kind = YAML_SCALAR, .scalar = value};
    if (!yyjson_is_ctn(value))
        return;
    content->members = mem_zero(count * sizeof *content->members);
    if (yyjson_is_arr(value)) {
        content->kind = YAML_SEQUENCE;
        yyjson_arr_foreach(value, index, max, item)
            content->members[content->count++] = (struct member){NULL, item};
    } else {
        content->kind = YAML_MAPPING;
        yyjson_obj_foreach(value, index, max, key, item)
            content->members[content->count++] = (struct member){key, item};
    }
}

void content_done(struct content *content)
{
    free(content->members);
}

/* A string of the list, or one to be added. */
struct candidate {
    struct str text;
    size_t order;
    struct member *member; /* NULL for what is in the list */
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    int r = str_compare(x->text, y->text);
    return r ? r : (x->order > y->order) - (x->order < y->order);
}

static size_t listed_strings(struct candidate *found, const struct yaml_tree *tree, uint32_t list)
{
    size_t count = 0;
    uint32_t at = list + 1;
    for (uint32_t i = 0; i < tree->nodes[list].children; i++) {
        const struct yaml_node *node = &tree->nodes[at];
        at += node->size;
        if (node->kind == YAML_ALIAS)
            node = &tree->nodes[node->target];
        if (yaml_is_string(node)) {
            found[count] = (struct candidate){node->text, count, NULL};
            count++;
        }
    }
    return count;
}

/* Sorted, so that a string stands behind the one that was there before it. */
static void drop_known(struct content *content, const struct yaml_tree *tree, uint32_t list)
{
    size_t listed = tree ? tree->nodes[list].children : 0;
    FREE_AT_END struct candidate *all = mem_grow(NULL, listed + content->count, sizeof *all);
    size_t count = tree ? listed_strings(all, tree, list) : 0;
    for (size_t i = 0; i < content->count; i++) {
        struct member *member = &content->members[i];
        if (yyjson_is_str(member->value)) {
            all[count] = (struct candidate){json_str(member->value), count, member};
            count++;
        }
    }
    qsort(all, count, sizeof *all, compare_candidates);
    for (size_t i = 1; i < count; i++) {
        if (all[i].member && str_compare(all[i - 1].text, all[i].text) == 0)
            all[i].member->value = NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < content->count; i++) {
        if (content->members[i].value)
            content->members[kept++] = content->members[i];
    }
    content->count = kept;
}

void content_to_append(struct content *content, const struct change *change,
                       const struct yaml_tree *tree, uint32_t list)
{
    if (yyjson_is_arr(change->value)) {
        content_of_value(content, change->value);
    } else {
        *content = (struct content){.kind = YAML_SEQUENCE, .count = 1};
        content->members = mem_zero(sizeof *content->members);
        content->members[0].value = change->value;
    }
    if (change->unique)
        drop_known(content, tree, list);
}

void content_of_change(struct content *content, const struct change *change)
{
    if (change->action == CHANGE_APPEND)
        content_to_append(content, change, NULL, 0);
    else
        content_of_value(content, change->value);
}
