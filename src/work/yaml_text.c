#include "work/yaml_tree.h"

static bool begins_comment(struct str source, size_t at)
{
    return source.p[at] == '#' && (at == 0 || strchr(" \t\n", source.p[at - 1]));
}

size_t yaml_skip(struct str source, size_t at)
{
    while (at < source.n) {
        if (begins_comment(source, at))
            at = yaml_line_end(source, at + 1);
        else if (source.p[at] && strchr(" \t\r\n", source.p[at]))
            at++;
        else
            break;
    }
    return at;
}

size_t yaml_line_start(struct str source, size_t at)
{
    const char *before = at ? memrchr(source.p, '\n', at) : NULL;
    return before ? (size_t)(before - source.p) + 1 : 0;
}

size_t yaml_column(struct str source, const struct yaml_node *node)
{
    return node->inner - yaml_line_start(source, node->inner);
}

size_t yaml_line_end(struct str source, size_t end)
{
    if (end && source.p[end - 1] == '\n')
        return end;
    const char *after = memchr(source.p + end, '\n', source.n - end);
    return after ? (size_t)(after - source.p) + 1 : source.n;
}

unsigned yaml_line_number(struct str source, size_t at)
{
    unsigned line = 1;
    for (size_t i = 0; i < at && i < source.n; i++)
        line += source.p[i] == '\n';
    return line;
}

/* Nodes stand in the order of the text, so two trees are compared side by side. */
bool yaml_equal(const struct yaml_tree *a, uint32_t x, const struct yaml_tree *b, uint32_t y)
{
    uint32_t size = a->nodes[x].size;
    if (b->nodes[y].size != size)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        const struct yaml_node *m = &a->nodes[x + i];
        const struct yaml_node *n = &b->nodes[y + i];
        if (m->kind != n->kind || m->style != n->style || m->size != n->size ||
            m->children != n->children || !m->anchor.p != !n->anchor.p || !m->tag.p != !n->tag.p)
            return false;
        if (!str_equal(m->text, n->text) || !str_equal(m->anchor, n->anchor) ||
            !str_equal(m->tag, n->tag))
            return false;
    }
    return true;
}
