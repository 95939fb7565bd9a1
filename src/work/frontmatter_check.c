#include "base/json.h"
#include "base/mem.h"
#include "work/frontmatter_parts.h"

static void mark_gone_nodes(bool *gone, const struct yaml_tree *tree, uint32_t index)
{
    memset(gone + index, true, tree->nodes[index].size);
}

static int mark_merged(bool *gone, const struct yaml_tree *tree, uint32_t mapping,
                       yyjson_val *members, struct err *err)
{
    struct entries known;
    size_t index;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    int r = entries_read(&known, tree, mapping, err);
    if (r == 0) {
        yyjson_obj_foreach(members, index, max, key, value) {
            const struct entry *entry = entries_find(&known, json_str(key));
            if (entry)
                mark_gone_nodes(gone, tree, entry->value_node);
        }
    }
    entries_done(&known);
    return r;
}

static int mark_changed(bool *gone, const struct yaml_tree *tree, const struct entry *entry,
                        const struct change *change, struct err *err)
{
    const struct yaml_node *value = &tree->nodes[entry->value_node];
    if (change->action == CHANGE_REMOVE)
        mark_gone_nodes(gone, tree, entry->key_node);
    if (change->action == CHANGE_REMOVE || change->action == CHANGE_SET || yaml_is_nothing(value))
        mark_gone_nodes(gone, tree, entry->value_node);
    else if (change->action == CHANGE_MERGE && value->kind == YAML_MAPPING)
        return mark_merged(gone, tree, entry->value_node, change->value, err);
    return 0;
}

int changes_keep_anchors(const struct changes *changes, const struct yaml_tree *tree,
                         const struct entries *root, struct err *err)
{
    FREE_AT_END bool *gone = mem_zero(tree->count * sizeof *gone);
    for (size_t i = 0; i < changes->count; i++) {
        const struct entry *entry = entries_find(root, changes->items[i].key);
        if (entry && mark_changed(gone, tree, entry, &changes->items[i], err) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct yaml_node *node = &tree->nodes[i];
        if (node->kind != YAML_ALIAS || gone[i] || !gone[node->target])
            continue;
        return err_set(
            err, ERR_INVALID_FRONTMATTER,
            "line %u of the front matter refers to `&%.*s` on line %u, which this update "
            "would take away: change that alias first",
            yaml_line_number(tree->source, node->start), str_shown(node->text), node->text.p,
            yaml_line_number(tree->source, tree->nodes[node->target].start));
    }
    return 0;
}

/* Both trees, and how far each has been looked at. */
struct pair {
    const struct yaml_tree *before;
    const struct yaml_tree *now;
    uint32_t x;
    uint32_t y;
};

static void step_pair(struct pair *p)
{
    p->x += p->before->nodes[p->x].size;
    p->y += p->now->nodes[p->y].size;
}

static bool is_pair_unchanged(const struct pair *p)
{
    return yaml_equal(p->before, p->x, p->now, p->y);
}

static bool members_read_as(const struct pair *p, uint32_t at, const struct content *content)
{
    for (size_t i = 0; i < content->count; i++) {
        const struct member *member = &content->members[i];
        if (member->key && !yaml_reads_as(p->now, at++, member->key))
            return false;
        if (!yaml_reads_as(p->now, at, member->value))
            return false;
        at += p->now->nodes[at].size;
    }
    return true;
}

static bool same_collection(const struct yaml_node *old, const struct yaml_node *new, size_t added)
{
    return new->kind == old->kind &&new->style == old->style && !new->tag.p == !old->tag.p &&
           !new->anchor.p == !old->anchor.p &&new->children == old->children + added;
}

static bool was_appended(struct pair p, const struct change *change)
{
    const struct yaml_node *old = &p.before->nodes[p.x];
    CONTENT_AT_END struct content content;
    content_to_append(&content, change, p.before, p.x);
    if (!same_collection(old, &p.now->nodes[p.y], content.count))
        return false;
    p.x++;
    p.y++;
    for (uint32_t i = 0; i < old->children; i++, step_pair(&p)) {
        if (!is_pair_unchanged(&p))
            return false;
    }
    return members_read_as(&p, p.y, &content);
}

static bool was_merged(struct pair p, const struct change *change)
{
    const struct yaml_node *old = &p.before->nodes[p.x];
    const struct yaml_node *new = &p.now->nodes[p.y];
    CONTENT_AT_END struct content content;
    FREE_AT_END yyjson_val **set = mem_zero(old->size * sizeof(void *));
    uint32_t base = p.x;
    struct entries known;
    struct err err;
    if (entries_read(&known, p.before, p.x, &err) < 0) {
        entries_done(&known);
        return false;
    }
    size_t kept = 0;
    content_of_value(&content, change->value);
    for (size_t i = 0; i < content.count; i++) {
        const struct entry *entry = entries_find(&known, json_str(content.members[i].key));
        if (entry)
            set[entry->value_node - base] = content.members[i].value;
        else
            content.members[kept++] = content.members[i];
    }
    content.count = kept;
    entries_done(&known);
    if (!same_collection(old, new, 2 * kept))
        return false;
    p.x++;
    p.y++;
    for (uint32_t i = 0; i < old->children; i++, step_pair(&p)) {
        yyjson_val *value = set[p.x - base];
        if (value ? !yaml_reads_as(p.now, p.y, value) : !is_pair_unchanged(&p))
            return false;
    }
    return members_read_as(&p, p.y, &content);
}

static bool was_written(const struct yaml_tree *now, uint32_t at, const struct change *change)
{
    const struct yaml_node *node = &now->nodes[at];
    struct pair p = {.now = now};
    if (change->action != CHANGE_APPEND)
        return yaml_reads_as(now, at, change->value);
    CONTENT_AT_END struct content content;
    content_of_change(&content, change);
    return node->kind == YAML_SEQUENCE && node->children == content.count &&
           members_read_as(&p, at + 1, &content);
}

static bool was_changed(struct pair p, const struct change *change)
{
    if (change->action == CHANGE_SET || yaml_is_nothing(&p.before->nodes[p.x]))
        return was_written(p.now, p.y, change);
    return change->action == CHANGE_APPEND ? was_appended(p, change) : was_merged(p, change);
}

/* Keys that were there before, in their order. */
static bool old_keys_are_right(struct pair *p, const struct change *const *by_key)
{
    const struct yaml_node *old = &p->before->nodes[0];
    const struct yaml_node *new = &p->now->nodes[0];
    uint32_t end = new->size;
    for (uint32_t i = 0; i < old->children / 2; i++) {
        const struct change *change = by_key[p->x];
        if (change && change->action == CHANGE_REMOVE) {
            p->x += p->before->nodes[p->x].size;
            p->x += p->before->nodes[p->x].size;
            continue;
        }
        if (p->y >= end || !is_pair_unchanged(p))
            return false;
        step_pair(p);
        if (p->y >= end || (change ? !was_changed(*p, change) : !is_pair_unchanged(p)))
            return false;
        step_pair(p);
    }
    return true;
}

static bool new_keys_are_right(const struct pair *p, const struct changes *changes,
                               const struct entries *known)
{
    uint32_t at = p->y;
    uint32_t end = p->now->nodes[0].size;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->items[i];
        if (change->action == CHANGE_REMOVE || entries_find(known, change->key))
            continue;
        if (at >= end || !yaml_is_string(&p->now->nodes[at]) ||
            !str_equal(p->now->nodes[at].text, change->key) || !was_written(p->now, at + 1, change))
            return false;
        at += 1 + p->now->nodes[at + 1].size;
    }
    return at == end;
}

bool changes_were_made(const struct changes *changes, const struct yaml_tree *before,
                       const struct yaml_tree *now)
{
    struct pair p = {before, now, 1, 1};
    struct entries known;
    struct err err;
    bool right = is_open_root(&now->nodes[0]);
    FREE_AT_END const struct change **by_key = mem_zero(before->count * sizeof(void *));
    if (entries_read(&known, before, 0, &err) < 0)
        right = false;
    for (size_t i = 0; right && i < changes->count; i++) {
        const struct entry *entry = entries_find(&known, changes->items[i].key);
        if (entry)
            by_key[entry->key_node] = &changes->items[i];
    }
    right = right && old_keys_are_right(&p, by_key) && new_keys_are_right(&p, changes, &known);
    entries_done(&known);
    return right;
}
