#include "base/json.h"
#include "base/mem.h"
#include "work/frontmatter_parts.h"

#define INDENT 2

static int refuse_change_at(const struct edit *edit, struct str key, size_t at, const char *what,
                            struct err *err)
{
    return err_set(err, ERR_INVALID_FRONTMATTER, "line %u of the front matter: `%.*s` %s",
                   yaml_line_number(edit->tree->source, at), str_shown(key), key.p, what);
}

static void write_member(struct buf *out, const struct member *member, bool in_flow)
{
    if (member->key) {
        yaml_write_string(out, json_str(member->key), in_flow);
        buf_add_text(out, ": ");
    }
    yaml_write(out, member->value, in_flow);
}

static void write_block_lines(const struct edit *edit, struct buf *out,
                              const struct content *content, size_t column)
{
    for (size_t i = 0; i < content->count && !out->failed; i++) {
        for (size_t n = 0; n < column; n++)
            buf_add_char(out, ' ');
        if (content->kind == YAML_SEQUENCE)
            buf_add_text(out, "- ");
        write_member(out, &content->members[i], false);
        buf_add_text(out, edit->line_end);
    }
}

static void write_inline(struct buf *out, const struct content *content, bool in_flow)
{
    if (content->kind == YAML_SCALAR) {
        yaml_write(out, content->scalar, in_flow);
        return;
    }
    buf_add_char(out, content->kind == YAML_SEQUENCE ? '[' : '{');
    for (size_t i = 0; i < content->count && !out->failed; i++) {
        if (i)
            buf_add_text(out, ", ");
        write_member(out, &content->members[i], true);
    }
    buf_add_char(out, content->kind == YAML_SEQUENCE ? ']' : '}');
}

/* The comment behind `key:`, with the blanks before it. */
static struct str key_comment(struct str source, size_t from)
{
    size_t end = yaml_line_end(source, from);
    while (end > from && strchr("\r\n", source.p[end - 1]))
        end--;
    for (size_t i = from; i + 1 < end; i++) {
        if (source.p[i + 1] != '#' || !strchr(" \t", source.p[i]))
            continue;
        while (i > from && strchr(" \t", source.p[i - 1]))
            i--;
        return (struct str){source.p + i, end - i};
    }
    return (struct str){"", 0};
}

/* One value of a mapping, and where lines of its own would begin. */
struct place {
    const struct yaml_node *key;
    const struct yaml_node *value;
    bool in_flow;
    size_t column;
};

static void replace_lines(struct edit *edit, const struct place *place,
                          const struct content *content, bool lines)
{
    struct str source = edit->tree->source;
    const struct yaml_node *value = place->value;
    struct str comment = key_comment(source, value->behind);
    struct buf *out = splices_add(&edit->splices, value->behind, yaml_line_end(source, value->end));
    if (!lines) {
        buf_add_char(out, ' ');
        write_inline(out, content, false);
    }
    buf_add(out, comment.p, comment.n);
    buf_add_text(out, edit->line_end);
    if (lines)
        write_block_lines(edit, out, content, place->column);
}

static void replace_inline(struct edit *edit, const struct place *place,
                           const struct content *content)
{
    const struct yaml_node *value = place->value;
    struct buf *out;
    if (value->start < value->end) {
        out = splices_add(&edit->splices, value->start, value->end);
    } else {
        size_t at = value->behind ? value->behind : place->key->end;
        out = splices_add(&edit->splices, at, at);
        buf_add_text(out, value->behind ? " " : ": ");
    }
    write_inline(out, content, place->in_flow);
}

/* A scalar behind `key:` makes way for lines below it. */
static void replace_by_lines(struct edit *edit, const struct place *place,
                             const struct content *content)
{
    const struct yaml_node *value = place->value;
    size_t at = yaml_line_end(edit->tree->source, value->end);
    if (value->start < value->end)
        splices_add(&edit->splices, value->behind, value->end);
    write_block_lines(edit, splices_add(&edit->splices, at, at), content, place->column);
}

static int replace_value(struct edit *edit, uint32_t mapping, const struct entry *entry,
                         const struct content *content, struct err *err)
{
    const struct yaml_node *parent = &edit->tree->nodes[mapping];
    const struct yaml_node *value = &edit->tree->nodes[entry->value_node];
    struct place place = {&edit->tree->nodes[entry->key_node], value, parent->style == YAML_FLOW,
                          0};
    const char *key_end = edit->tree->source.p + place.key->end;
    if (place.key->explicit_key)
        return refuse_change_at(edit, entry->key, place.key->start,
                                "is written with `?`: write it as `key: value` first", err);
    bool has_lines = value->style == YAML_BLOCK;
    bool same_line = !memchr(key_end, '\n', value->start - place.key->end);
    bool fits = has_lines || (mapping == 0 && same_line && value->style != YAML_FLOW);
    bool lines = fits && !place.in_flow && content->count;
    if (!place.in_flow)
        place.column = yaml_column(edit->tree->source, parent) + INDENT;
    if (has_lines && value->kind == content->kind)
        place.column = yaml_column(edit->tree->source, value);
    if (has_lines)
        replace_lines(edit, &place, content, lines);
    else if (lines)
        replace_by_lines(edit, &place, content);
    else
        replace_inline(edit, &place, content);
    return 0;
}

static void add_members(struct edit *edit, uint32_t index, const struct content *content)
{
    const struct yaml_node *node = &edit->tree->nodes[index];
    if (!content->count)
        return;
    if (node->style == YAML_BLOCK) {
        size_t at = yaml_line_end(edit->tree->source, node->end);
        write_block_lines(edit, splices_add(&edit->splices, at, at), content,
                          yaml_column(edit->tree->source, node));
        return;
    }
    BUF_AT_END struct buf texts = BUF_INIT(edit->splices.texts.max);
    for (size_t i = 0; i < content->count; i++) {
        write_member(&texts, &content->members[i], true);
        buf_add_char(&texts, '\0');
    }
    if (texts.failed)
        splices_fail(&edit->splices, &texts);
    else
        edit_add_in_brackets(edit, index, buf_str(&texts));
}

static int append_to_list(struct edit *edit, const struct change *change, const struct entry *entry,
                          struct err *err)
{
    const struct yaml_node *value = &edit->tree->nodes[entry->value_node];
    if (value->kind == YAML_ALIAS)
        return refuse_change_at(
            edit, change->key, value->start,
            "is an alias, which cannot be appended to: append where its anchor is", err);
    if (value->kind != YAML_SEQUENCE)
        return refuse_change_at(edit, change->key, value->start,
                                "is not a list and cannot be appended to: replace it with `set`",
                                err);
    CONTENT_AT_END struct content content;
    content_to_append(&content, change, edit->tree, entry->value_node);
    add_members(edit, entry->value_node, &content);
    return 0;
}

static int merge_into(struct edit *edit, const struct entries *known, const struct change *change,
                      uint32_t mapping, struct err *err)
{
    CONTENT_AT_END struct content content;
    content_of_value(&content, change->value);
    size_t kept = 0;
    for (size_t i = 0; i < content.count; i++) {
        const struct entry *entry = entries_find(known, json_str(content.members[i].key));
        if (!entry) {
            content.members[kept++] = content.members[i];
            continue;
        }
        CONTENT_AT_END struct content value;
        content_of_value(&value, content.members[i].value);
        if (replace_value(edit, mapping, entry, &value, err) < 0)
            return -1;
    }
    content.count = kept;
    add_members(edit, mapping, &content);
    return 0;
}

static int merge_into_mapping(struct edit *edit, const struct change *change,
                              const struct entry *entry, struct err *err)
{
    const struct yaml_node *value = &edit->tree->nodes[entry->value_node];
    if (value->kind == YAML_ALIAS)
        return refuse_change_at(
            edit, change->key, value->start,
            "is an alias, which cannot be merged into: merge where its anchor is", err);
    if (value->kind != YAML_MAPPING)
        return refuse_change_at(edit, change->key, value->start,
                                "is not a mapping and cannot be merged into: replace it with `set`",
                                err);
    struct entries known;
    int r = entries_read(&known, edit->tree, entry->value_node, err);
    if (r == 0)
        r = merge_into(edit, &known, change, entry->value_node, err);
    entries_done(&known);
    return r;
}

int edit_change(struct edit *edit, const struct change *change, struct err *err)
{
    const struct entry *entry = entries_find(&edit->root, change->key);
    if (!entry || change->action == CHANGE_REMOVE)
        return 0;
    if (change->action == CHANGE_SET || yaml_is_nothing(&edit->tree->nodes[entry->value_node])) {
        CONTENT_AT_END struct content content;
        content_of_change(&content, change);
        return replace_value(edit, 0, entry, &content, err);
    }
    return change->action == CHANGE_APPEND ? append_to_list(edit, change, entry, err)
                                           : merge_into_mapping(edit, change, entry, err);
}

static void write_new_key(struct edit *edit, struct buf *out, const struct change *change,
                          size_t column)
{
    CONTENT_AT_END struct content content;
    content_of_change(&content, change);
    for (size_t n = 0; n < column; n++)
        buf_add_char(out, ' ');
    yaml_write_string(out, change->key, false);
    buf_add_char(out, ':');
    if (!content.count) {
        buf_add_char(out, ' ');
        write_inline(out, &content, false);
    }
    buf_add_text(out, edit->line_end);
    write_block_lines(edit, out, &content, column + INDENT);
}

static void write_new_pair(struct buf *out, const struct change *change)
{
    CONTENT_AT_END struct content content;
    content_of_change(&content, change);
    yaml_write_string(out, change->key, true);
    buf_add_text(out, ": ");
    write_inline(out, &content, true);
    buf_add_char(out, '\0');
}

void edit_add_keys(struct edit *edit, const struct changes *changes)
{
    const struct yaml_node *root = &edit->tree->nodes[0];
    bool in_flow = root->style == YAML_FLOW;
    size_t column = root->kind == YAML_MAPPING && !in_flow ? yaml_column(edit->tree->source, root)
                                                           : 0;
    size_t end = edit->tree->source.n;
    BUF_AT_END struct buf texts = BUF_INIT(edit->splices.texts.max);
    struct buf *out = in_flow ? &texts : splices_add(&edit->splices, end, end);
    for (size_t i = 0; i < changes->count && !out->failed; i++) {
        const struct change *change = &changes->items[i];
        if (change->action == CHANGE_REMOVE || entries_find(&edit->root, change->key))
            continue;
        if (in_flow)
            write_new_pair(out, change);
        else
            write_new_key(edit, out, change, column);
    }
    if (texts.failed)
        splices_fail(&edit->splices, &texts);
    else if (texts.len)
        edit_add_in_brackets(edit, 0, buf_str(&texts));
}

static size_t entry_start(const struct yaml_node *key)
{
    return key->explicit_key ? key->behind - 1 : key->start;
}

/* One entry, with the comma that stood between it and a neighbour. */
static void remove_pair(struct edit *edit, uint32_t key, size_t kept_end, bool is_last)
{
    const struct yaml_tree *tree = edit->tree;
    uint32_t value = key + tree->nodes[key].size;
    size_t start = entry_start(&tree->nodes[key]);
    size_t end = tree->nodes[value].end;
    size_t next = yaml_skip(tree->source, end);
    if (!is_last)
        end = entry_start(&tree->nodes[value + tree->nodes[value].size]);
    else if (kept_end)
        start = kept_end;
    else if (tree->source.p[next] == ',')
        end = next + 1;
    splices_add(&edit->splices, start, end);
}

static size_t skip_empty_lines(struct str source, size_t at)
{
    while (at < source.n) {
        size_t n = strspn(source.p + at, " \t\r");
        if (at + n >= source.n || source.p[at + n] != '\n')
            break;
        at += n + 1;
    }
    return at;
}

/* The last value that stays, when it is a block scalar: it takes for its own what comes to stand behind it. */
struct greedy {
    size_t end; /* SIZE_MAX when there is none */
    bool keeps_lines;
};

/* The lines of one entry. Behind a block scalar, what follows them must not become part of that: empty lines go
 * where it keeps such, and a comment loses its indentation. */
static void remove_lines(struct edit *edit, uint32_t key, struct greedy *before)
{
    const struct yaml_tree *tree = edit->tree;
    struct str source = tree->source;
    const struct yaml_node *value = &tree->nodes[key + tree->nodes[key].size];
    size_t start = yaml_line_start(source, entry_start(&tree->nodes[key]));
    size_t end = yaml_line_end(source, value->end);
    size_t next = skip_empty_lines(source, end);
    bool meets = before->end <= start && skip_empty_lines(source, before->end) >= start;
    if (meets && before->keeps_lines)
        end = next;
    splices_add(&edit->splices, start, end);
    size_t blanks = next < source.n ? strspn(source.p + next, " \t") : 0;
    bool comment = next + blanks < source.n && source.p[next + blanks] == '#';
    if (meets && comment)
        splices_add(&edit->splices, next, next + blanks);
    before->end = meets && !comment ? end : SIZE_MAX;
}

void edit_remove_keys(struct edit *edit, const struct changes *changes)
{
    const struct yaml_tree *tree = edit->tree;
    FREE_AT_END bool *removed = mem_zero(tree->count * sizeof *removed);
    for (size_t i = 0; i < changes->count; i++) {
        const struct entry *entry = entries_find(&edit->root, changes->items[i].key);
        if (entry && changes->items[i].action == CHANGE_REMOVE)
            removed[entry->key_node] = true;
    }
    uint32_t count = tree->nodes[0].children / 2;
    uint32_t key = 1;
    size_t kept_end = 0;
    struct greedy before = {SIZE_MAX, false};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = key + tree->nodes[key].size;
        uint32_t next = value + tree->nodes[value].size;
        if (!removed[key]) {
            kept_end = tree->nodes[value].end;
            const struct yaml_node *last = &tree->nodes[next - 1];
            bool greedy = last->kind == YAML_SCALAR && last->style == YAML_BLOCK;
            before = (struct greedy){greedy ? last->end : SIZE_MAX, last->keeps_lines};
        } else if (tree->nodes[0].style == YAML_FLOW) {
            remove_pair(edit, key, kept_end, i + 1 == count);
        } else {
            remove_lines(edit, key, &before);
        }
        key = next;
    }
}
