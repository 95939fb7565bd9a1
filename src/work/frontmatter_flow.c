#include "work/frontmatter_parts.h"

struct brackets {
    size_t open;
    size_t close;
    size_t last_start; /* of the last entry */
    size_t last_end;
    size_t comma; /* behind the last entry; 0 when there is none */
};

static void find_brackets(struct brackets *b, const struct yaml_tree *tree, uint32_t index)
{
    const struct yaml_node *node = &tree->nodes[index];
    uint32_t at = index + 1;
    *b = (struct brackets){.open = node->inner, .close = node->end - 1};
    for (uint32_t i = 0; i < node->children; i++) {
        if (node->kind == YAML_SEQUENCE || i % 2 == 0)
            b->last_start = tree->nodes[at].start;
        b->last_end = tree->nodes[at].end;
        at += tree->nodes[at].size;
    }
    size_t next = yaml_skip(tree->source, b->last_end);
    if (node->children && tree->source.p[next] == ',')
        b->comma = next;
}

/* "a\0b\0" becomes `a, b`. */
static void write_joined(struct buf *out, struct str texts)
{
    for (size_t i = 0; i < texts.n;) {
        size_t n = strlen(texts.p + i);
        if (i)
            buf_add_text(out, ", ");
        buf_add(out, texts.p + i, n);
        i += n + 1;
    }
}

static void add_first(struct edit *edit, const struct brackets *b, struct str texts)
{
    struct str source = edit->tree->source;
    size_t from = b->open + 1;
    bool blank = true;
    for (size_t i = from; i < b->close; i++)
        blank &= source.p[i] == ' ' || source.p[i] == '\t';
    struct buf *out = splices_add(&edit->splices, from, blank ? b->close : from);
    write_joined(out, texts);
    if (source.p[from] == '#')
        buf_add_char(out, ' ');
}

/* Each entry on a line of its own: so are the new ones. */
static bool add_lines(struct edit *edit, const struct brackets *b, struct str texts)
{
    struct str source = edit->tree->source;
    size_t line = yaml_line_start(source, b->last_start);
    size_t behind = b->comma ? b->comma + 1 : b->last_end;
    size_t at = yaml_line_end(source, behind);
    if (at > b->close || line + strspn(source.p + line, " ") != b->last_start)
        return false;
    if (!b->comma)
        buf_add_char(splices_add(&edit->splices, b->last_end, b->last_end), ',');
    struct buf *out = splices_add(&edit->splices, at, at);
    for (size_t i = 0; i < texts.n;) {
        size_t n = strlen(texts.p + i);
        buf_add(out, source.p + line, b->last_start - line);
        buf_add(out, texts.p + i, n);
        i += n + 1;
        if (b->comma || i < texts.n)
            buf_add_char(out, ',');
        buf_add_text(out, edit->line_end);
    }
    return true;
}

void edit_add_in_brackets(struct edit *edit, uint32_t index, struct str texts)
{
    struct brackets b;
    struct buf *out;
    find_brackets(&b, edit->tree, index);
    if (!edit->tree->nodes[index].children) {
        add_first(edit, &b, texts);
        return;
    }
    if (add_lines(edit, &b, texts))
        return;
    if (b.comma) {
        out = splices_add(&edit->splices, b.comma + 1, b.comma + 1);
        buf_add_char(out, ' ');
        write_joined(out, texts);
        buf_add_char(out, ',');
        return;
    }
    out = splices_add(&edit->splices, b.last_end, b.last_end);
    /* `{a:,` is not `a` with nothing to every reader. */
    buf_add_text(out, edit->tree->source.p[b.last_end - 1] == ':' ? " , " : ", ");
    write_joined(out, texts);
}
