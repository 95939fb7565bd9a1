#include "work/yaml_tree.h"

#include <libfyaml.h>

struct reader {
    struct yaml_tree *tree;
    struct str source;
    size_t cursor; /* behind the last thing placed */
    uint32_t open[YAML_DEPTH_MAX];
    unsigned depth;
    unsigned documents;
    bool dangling; /* aliases may be without their anchors */
    bool lost;     /* the text is not where libfyaml's marks say */
};

/* What an event tells about a node, before it is placed. */
struct found {
    enum yaml_kind kind;
    struct fy_token *anchor;
    struct fy_token *tag;
    struct fy_token *value;
};

static void print_nothing(struct fy_diag *diag, void *user, const char *text, size_t n)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)n;
}

static int fail_at(const struct reader *r, size_t at, const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID_FRONTMATTER, "line %u of the front matter: %s",
                   yaml_line_number(r->source, at), what);
}

static struct yaml_node *parent_of_next_node(const struct reader *r)
{
    return r->depth ? &r->tree->nodes[r->open[r->depth - 1]] : NULL;
}

/* NULL when there are too many. */
static struct yaml_node *node_new(struct reader *r)
{
    struct yaml_tree *tree = r->tree;
    const struct yaml_node node = {.size = 1};
    if (buf_add(&tree->store, &node, sizeof node) < 0)
        return NULL;
    tree->nodes = (void *)tree->store.data;
    return &tree->nodes[tree->count++];
}

static char byte_at(const struct reader *r, size_t at)
{
    return (char)(at < r->source.n ? r->source.p[at] : '\0');
}

static bool is_yaml_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

/* Over what stands between the cursor and a node: a comma, and `-`, `?` or `:`. */
static void place_indicator(struct reader *r, struct yaml_node *parent, struct yaml_node *node)
{
    if (!parent)
        return;
    size_t at = yaml_skip(r->source, r->cursor);
    bool is_value = parent->kind == YAML_MAPPING && parent->children % 2 == 1;
    if (parent->style == YAML_FLOW && parent->children && !is_value && byte_at(r, at) == ',')
        at = yaml_skip(r->source, at + 1);
    char indicator = byte_at(r, at);
    if (is_value) {
        /* `? a` without a value, and then a key such as `:b` */
        bool in_key = parent->style == YAML_BLOCK && !is_yaml_space(byte_at(r, at + 1)) &&
                      memchr(r->source.p + r->cursor, '\n', at - r->cursor);
        if (indicator != ':' || in_key)
            return;
    } else if (parent->kind == YAML_MAPPING) {
        node->explicit_key = indicator == '?' && is_yaml_space(byte_at(r, at + 1));
    } else if (parent->style == YAML_BLOCK && indicator != '-') {
        r->lost = true;
    }
    bool is_item = parent->kind == YAML_SEQUENCE && parent->style == YAML_BLOCK;
    if (parent->style == YAML_BLOCK && !parent->children)
        parent->inner = at;
    if (is_value || is_item || node->explicit_key)
        node->behind = ++at;
    r->cursor = at;
}

/* Where a token's own text is, in `source`; `lead` is what libfyaml leaves out before it. */
static struct str token_span(struct reader *r, struct fy_token *token, const char *lead)
{
    const struct fy_mark *from = fy_token_start_mark(token);
    const struct fy_mark *to = fy_token_end_mark(token);
    size_t skipped = lead ? 1 : 0;
    if (!from || !to || from->input_pos < r->cursor + skipped || to->input_pos < from->input_pos ||
        to->input_pos > r->source.n || (lead && !strchr(lead, byte_at(r, from->input_pos - 1)))) {
        r->lost = true;
        return (struct str){"", 0};
    }
    return (struct str){r->source.p + from->input_pos, to->input_pos - from->input_pos};
}

static size_t offset_of(const struct reader *r, struct str part)
{
    return (size_t)(part.p - r->source.p);
}

/* Anchor and tag, in either order. */
static void place_properties(struct reader *r, const struct found *found, struct yaml_node *node)
{
    size_t end = r->cursor;
    node->start = SIZE_MAX;
    if (found->anchor) {
        node->anchor = token_span(r, found->anchor, "&");
        if (r->lost)
            return;
        node->start = offset_of(r, node->anchor) - 1;
        end = offset_of(r, node->anchor) + node->anchor.n;
    }
    if (found->tag) {
        node->tag = token_span(r, found->tag, NULL);
        if (r->lost)
            return;
        size_t start = offset_of(r, node->tag);
        node->start = start < node->start ? start : node->start;
        end = start + node->tag.n > end ? start + node->tag.n : end;
    }
    r->cursor = end;
}

/* libfyaml counts empty lines behind a block scalar, and the indentation of what follows, as its own. */
static size_t block_scalar_end(const struct reader *r, size_t header_end, size_t end, bool keeps)
{
    const char *p = r->source.p;
    while (end > header_end && p[end - 1] != '\n')
        end--;
    while (!keeps && end > header_end) {
        size_t line = end - 1;
        if (line > header_end && p[line - 1] == '\r')
            line--;
        if (line > header_end && p[line - 1] != '\n')
            break;
        end = line;
    }
    return end;
}

static void place_block_scalar(struct reader *r, struct yaml_node *node, struct str span)
{
    size_t header = yaml_skip(r->source, r->cursor);
    if (byte_at(r, header) != '|' && byte_at(r, header) != '>') {
        r->lost = true;
        return;
    }
    size_t header_end = yaml_line_end(r->source, header + 1);
    for (size_t i = header; i < header_end && !is_yaml_space(r->source.p[i]); i++)
        node->keeps_lines |= r->source.p[i] == '+';
    node->style = YAML_BLOCK;
    node->inner = header;
    node->start = header < node->start ? header : node->start;
    node->end = block_scalar_end(r, header_end, offset_of(r, span) + span.n, node->keeps_lines);
}

static void iter_done(struct fy_token_iter **iter)
{
    if (*iter)
        fy_token_iter_destroy(*iter);
}

/* Not with fy_token_get_text: libfyaml 0.7.12 loses some memory there for each scalar of many pieces. */
static void keep_text(struct reader *r, struct yaml_node *node, struct fy_token *token)
{
    struct buf *store = &r->tree->text;
    size_t at = store->len;
    int failed = 0;
    CLEANUP(iter_done) struct fy_token_iter *iter = fy_token_iter_create(token);
    const struct fy_iter_chunk *chunk = NULL;
    while (iter && (chunk = fy_token_iter_chunk_next(iter, chunk, &failed)) != NULL) {
        /* All room is there from the beginning: nodes point into it. */
        if (chunk->len > store->cap - store->len || buf_add(store, chunk->str, chunk->len) < 0) {
            failed = 1;
            break;
        }
    }
    if (!iter || failed)
        r->lost = true;
    else
        node->text = (struct str){store->data + at, store->len - at};
}

static void place_scalar(struct reader *r, struct yaml_node *node, struct fy_token *token)
{
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    node->text = (struct str){"", 0};
    if (!token) {
        node->end = r->cursor;
        node->start = node->start < node->end ? node->start : node->end;
        return;
    }
    bool quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    struct str span = token_span(r, token, quoted ? "'\"" : NULL);
    if (r->lost)
        return;
    keep_text(r, node, token);
    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        place_block_scalar(r, node, span);
        return;
    }
    size_t start = offset_of(r, span) - quoted;
    node->inner = start;
    node->style = quoted ? YAML_QUOTED : YAML_PLAIN;
    node->end = offset_of(r, span) + span.n + quoted;
    if (quoted && byte_at(r, node->end - 1) != byte_at(r, start))
        r->lost = true;
    node->start = start < node->start ? start : node->start;
}

static void place_alias(struct reader *r, struct yaml_node *node, struct fy_token *token)
{
    node->text = token_span(r, token, "*");
    if (r->lost)
        return;
    node->inner = node->start = offset_of(r, node->text) - 1;
    node->end = offset_of(r, node->text) + node->text.n;
}

static void place_collection(struct reader *r, struct yaml_node *parent, struct yaml_node *node)
{
    size_t at = yaml_skip(r->source, r->cursor);
    char bracket = node->kind == YAML_MAPPING ? '{' : '[';
    bool in_flow = parent && parent->style == YAML_FLOW;
    if (node->style == YAML_FLOW) {
        if (byte_at(r, at) != bracket)
            r->lost = true;
        node->inner = at++;
        node->start = node->inner < node->start ? node->inner : node->start;
        r->cursor = at;
    } else {
        node->bare_pair = in_flow;
        node->style = in_flow ? YAML_FLOW : YAML_BLOCK;
        node->inner = at;
        node->start = at < node->start ? at : node->start;
    }
    node->end = r->cursor;
}

static int bind_alias(struct reader *r, struct yaml_node *node, struct err *err)
{
    struct yaml_tree *tree = r->tree;
    for (unsigned i = tree->anchor_count; i > 0; i--) {
        if (str_equal(tree->nodes[tree->anchors[i - 1]].anchor, node->text)) {
            node->target = tree->anchors[i - 1];
            return 0;
        }
    }
    node->target = tree->count - 1;
    if (r->dangling)
        return 0;
    return fail_at(r, node->start, "an alias (`*`) without its anchor (`&`) before it", err);
}

/* The pair in `[a: b]` has a start of no length. */
static bool has_bracket(struct fy_token *token)
{
    const struct fy_mark *from = token ? fy_token_start_mark(token) : NULL;
    const struct fy_mark *to = token ? fy_token_end_mark(token) : NULL;
    return from && to && to->input_pos == from->input_pos + 1;
}

/* libfyaml takes a value at its key's own indentation, which only a list may have. */
static bool is_indented(const struct reader *r, const struct yaml_node *parent,
                        const struct yaml_node *node)
{
    if (!parent || parent->kind != YAML_MAPPING || parent->style != YAML_BLOCK || !node->behind ||
        !node->inner || (node->kind == YAML_SEQUENCE && node->style == YAML_BLOCK))
        return true;
    size_t line = yaml_line_start(r->source, node->inner);
    size_t column = yaml_column(r->source, parent);
    return line <= node->behind || node->inner - line > column;
}

/* And the text of `|` and `>` at the indentation of what it belongs to. */
static bool is_text_indented(const struct reader *r, const struct yaml_node *parent,
                             const struct yaml_node *node)
{
    if (!parent || node->kind != YAML_SCALAR || node->style != YAML_BLOCK)
        return true;
    for (size_t at = yaml_line_end(r->source, node->inner + 1); at < node->end;) {
        size_t blanks = strspn(r->source.p + at, " \t");
        if (!strchr("\r\n", byte_at(r, at + blanks)))
            return blanks > yaml_column(r->source, parent);
        at = yaml_line_end(r->source, at + blanks + 1);
    }
    return true;
}

static int add_node(struct reader *r, const struct found *found, struct err *err)
{
    struct yaml_node *node = node_new(r);
    if (!node)
        return fail_at(r, r->cursor, "too many values up to here", err);
    struct yaml_node *parent = parent_of_next_node(r);
    node->kind = found->kind;
    place_indicator(r, parent, node);
    if (!r->lost)
        place_properties(r, found, node);
    if (r->lost)
        return 0;
    if (node->anchor.p) {
        if (r->tree->anchor_count == YAML_ANCHORS_MAX)
            return fail_at(r, node->start, "too many anchors (`&`)", err);
        r->tree->anchors[r->tree->anchor_count++] = r->tree->count - 1;
    }
    if (found->kind == YAML_SCALAR)
        place_scalar(r, node, found->value);
    else if (found->kind == YAML_ALIAS)
        place_alias(r, node, found->value);
    else {
        node->style = has_bracket(found->value) ? YAML_FLOW : YAML_BLOCK;
        place_collection(r, parent, node);
    }
    if (parent)
        parent->children++;
    if (r->lost)
        return 0;
    if (!is_indented(r, parent, node) || !is_text_indented(r, parent, node))
        return fail_at(r, node->inner, "a value that is not indented more than what it belongs to",
                       err);
    if (found->kind == YAML_ALIAS && bind_alias(r, node, err) < 0)
        return -1;
    r->cursor = node->end;
    if (found->kind == YAML_SCALAR || found->kind == YAML_ALIAS)
        return 0;
    if (r->depth == YAML_DEPTH_MAX)
        return fail_at(r, node->start, "nested too deeply", err);
    r->open[r->depth++] = r->tree->count - 1;
    return 0;
}

static void close_collection(struct reader *r)
{
    uint32_t index = r->open[--r->depth];
    struct yaml_node *node = &r->tree->nodes[index];
    node->size = r->tree->count - index;
    if (node->style == YAML_FLOW && !node->bare_pair) {
        size_t at = yaml_skip(r->source, r->cursor);
        if (byte_at(r, at) == ',')
            at = yaml_skip(r->source, at + 1);
        if (byte_at(r, at) != (node->kind == YAML_MAPPING ? '}' : ']'))
            r->lost = true;
        r->cursor = at + 1;
    }
    node->end = r->cursor;
}

static int take_yaml_event(struct reader *r, const struct fy_event *event, struct err *err)
{
    struct found found;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (++r->documents > 1)
            return fail_at(r, yaml_skip(r->source, r->cursor), "more than one YAML document", err);
        r->cursor = 3;
        return 0;
    case FYET_DOCUMENT_END:
        if (!event->document_end.implicit)
            return fail_at(r, yaml_skip(r->source, r->cursor), "`...` with something behind it",
                           err);
        return 0;
    case FYET_SCALAR:
        found = (struct found){YAML_SCALAR, event->scalar.anchor, event->scalar.tag,
                               event->scalar.value};
        return add_node(r, &found, err);
    case FYET_ALIAS:
        found = (struct found){YAML_ALIAS, NULL, NULL, event->alias.anchor};
        return add_node(r, &found, err);
    case FYET_SEQUENCE_START:
        found = (struct found){YAML_SEQUENCE, event->sequence_start.anchor,
                               event->sequence_start.tag, event->sequence_start.sequence_start};
        return add_node(r, &found, err);
    case FYET_MAPPING_START:
        found = (struct found){YAML_MAPPING, event->mapping_start.anchor, event->mapping_start.tag,
                               event->mapping_start.mapping_start};
        return add_node(r, &found, err);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        close_collection(r);
        return 0;
    default:
        return 0;
    }
}

static int read_yaml_events(struct reader *r, struct fy_parser *parser, struct err *err)
{
    struct fy_event *event;
    int result = 0;
    while (result == 0 && (event = fy_parser_parse(parser))) {
        /* A text that is not YAML is told as such, also when the places in it made no sense before. */
        if (!r->lost)
            result = take_yaml_event(r, event, err);
        fy_parser_event_free(parser, event);
    }
    return result;
}

static int first_error(struct fy_diag *diag, struct err *err)
{
    void *iterator = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &iterator);
    if (!first || !first->msg)
        return err_set(err, ERR_INVALID_FRONTMATTER, "the front matter is not YAML");
    return err_set(err, ERR_INVALID_FRONTMATTER, "line %d of the front matter is not YAML: %.200s",
                   first->line, first->msg);
}

static int read_with(struct reader *r, struct fy_diag *diag, struct err *err)
{
    const struct fy_parse_cfg config = {
        .search_path = "",
        .diag = diag,
        .flags = FYPCF_QUIET | FYPCF_DISABLE_MMAP_OPT | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
    };
    struct fy_parser *parser = fy_parser_create(&config);
    if (!parser || fy_parser_set_string(parser, r->source.p, r->source.n) < 0) {
        fy_parser_destroy(parser);
        return err_set(err, ERR_INTERNAL, "the YAML reader could not be started");
    }
    int result = read_yaml_events(r, parser, err);
    if (result == 0 && fy_parser_get_stream_error(parser))
        result = first_error(diag, err);
    else if (result == 0 && (r->lost || r->depth || !r->tree->count))
        result = err_set(err, ERR_INTERNAL, "the front matter's values could not be told apart");
    fy_parser_destroy(parser);
    return result;
}

int yaml_tree_read(struct yaml_tree *tree, struct str source, bool dangling, struct err *err)
{
    /* A configuration of its own: the default one asks whether standard error is a terminal. */
    const struct fy_diag_cfg config = {
        .output_fn = print_nothing, .level = FYET_ERROR, .module_mask = ~0u};
    struct reader r = {.tree = tree, .source = source, .dangling = dangling};
    *tree = (struct yaml_tree){.source = source};
    /* An escape of two bytes becomes three at most (`\L`). */
    buf_init(&tree->text, 2 * source.n + 64);
    buf_init(&tree->store, YAML_NODES_MAX * sizeof *tree->nodes);
    struct fy_diag *diag = fy_diag_create(&config);
    if (!diag || buf_reserve(&tree->text, 2 * source.n + 64) < 0) {
        fy_diag_destroy(diag);
        return err_set(err, ERR_INTERNAL, "no memory for the YAML reader");
    }
    fy_diag_set_collect_errors(diag, true);
    int result = read_with(&r, diag, err);
    fy_diag_destroy(diag);
    return result;
}

void yaml_tree_done(struct yaml_tree *tree)
{
    buf_done(&tree->text);
    buf_done(&tree->store);
    *tree = (struct yaml_tree){0};
}
