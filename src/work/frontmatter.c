#include "work/frontmatter.h"

#include "base/utf8.h"
#include "work/frontmatter_parts.h"

#define EMPTY_LINES_MAX 256

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* The parts of a file: what is before the front matter's first line, the front matter up to the line
 * that closes it, and the rest. */
struct parts {
    size_t start;
    size_t end;
    const char *line_end;
};

static bool is_marker(struct str line, const char *marker)
{
    if (line.n < 3 || memcmp(line.p, marker, 3) != 0)
        return false;
    for (size_t i = 3; i < line.n; i++) {
        if (!strchr(" \t\r\n", line.p[i]))
            return false;
    }
    return true;
}

static struct str frontmatter_line_at(struct str file, size_t at)
{
    const char *end = memchr(file.p + at, '\n', file.n - at);
    return (struct str){file.p + at, end ? (size_t)(end - file.p) + 1 - at : file.n - at};
}

static int find_parts(struct str file, struct parts *parts, struct err *err)
{
    size_t at = file.n >= 3 && memcmp(file.p, byte_order_mark, 3) == 0 ? 3 : 0;
    struct str line = file.n ? frontmatter_line_at(file, at) : file;
    parts->start = at;
    if (!is_marker(line, "---"))
        return err_set(err, ERR_INVALID_FRONTMATTER,
                       "the file does not begin with a line `---`: it has no front matter");
    parts->line_end = line.n > 1 && line.p[line.n - 2] == '\r' ? "\r\n" : "\n";
    for (at += line.n; at < file.n; at += line.n) {
        if (at - parts->start > FRONTMATTER_MAX)
            return err_set(err, ERR_INVALID_FRONTMATTER,
                           "the front matter is longer than %zu bytes", FRONTMATTER_MAX);
        line = frontmatter_line_at(file, at);
        if (is_marker(line, "---") || is_marker(line, "...")) {
            parts->end = at;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID_FRONTMATTER,
                   "the front matter has no end: there is no second line `---`");
}

/* YAML allows none of these; libfyaml would take some for the end of the text or of a line. */
static int check_bytes(struct str yaml, struct err *err)
{
    unsigned line = 1;
    for (size_t i = 0; i < yaml.n;) {
        unsigned char c = (unsigned char)yaml.p[i];
        size_t n = utf8_sequence(yaml.p + i, yaml.n - i);
        bool control = (c < 0x20 && !strchr("\t\r\n", c)) || c == 0 || c == 0x7f;
        if (n == 0)
            return err_set(err, ERR_INVALID_FRONTMATTER, "line %u of the front matter is not UTF-8",
                           line);
        if (control || (c == '\r' && yaml.p[i + 1] != '\n'))
            return err_set(err, ERR_INVALID_FRONTMATTER,
                           "line %u of the front matter has a control character (0x%02x)", line, c);
        line += c == '\n';
        i += n;
    }
    return 0;
}

/* For each empty line of a value libfyaml looks at all that follow it: 40,000 took it 1.3 s. */
static int check_empty_lines(struct str yaml, struct err *err)
{
    unsigned line = 1;
    unsigned in_a_row = 0;
    for (size_t i = 0; i < yaml.n; i++) {
        if (yaml.p[i] == '\n') {
            line++;
            in_a_row++;
        } else if (!strchr(" \t\r", yaml.p[i])) {
            in_a_row = 0;
        }
        if (in_a_row > EMPTY_LINES_MAX)
            return err_set(err, ERR_INVALID_FRONTMATTER,
                           "line %u of the front matter: more than %d empty lines in a row", line,
                           EMPTY_LINES_MAX);
    }
    return 0;
}

bool is_open_root(const struct yaml_node *root)
{
    return root->kind == YAML_MAPPING ||
           (root->kind == YAML_SCALAR && root->style == YAML_PLAIN && root->text.n == 0);
}

static int read_yaml(struct yaml_tree *tree, struct str yaml, bool dangling, struct err *err)
{
    if (check_bytes(yaml, err) < 0 || check_empty_lines(yaml, err) < 0 ||
        yaml_tree_read(tree, yaml, dangling, err) < 0)
        return -1;
    if (!is_open_root(&tree->nodes[0]))
        return err_set(err, ERR_INVALID_FRONTMATTER,
                       "line %u: the front matter is not a mapping (`key: value` lines)",
                       yaml_line_number(yaml, tree->nodes[0].start));
    return 0;
}

static void edit_done(struct edit *edit)
{
    entries_done(&edit->root);
    splices_done(&edit->splices);
}

/* Removals are made first and by themselves: what is added needs a neighbour that stays. In between, an alias may
 * still wait for its own change. */
static int make_pass(const struct yaml_tree *tree, const char *line_end,
                     const struct changes *changes, bool removals, struct buf *out, struct err *err)
{
    CLEANUP(edit_done) struct edit edit = {.tree = tree, .line_end = line_end};
    splices_init(&edit.splices, FRONTMATTER_MAX);
    if (entries_read(&edit.root, tree, 0, err) < 0)
        return -1;
    if (removals) {
        edit_remove_keys(&edit, changes);
    } else {
        for (size_t i = 0; i < changes->count; i++) {
            if (edit_change(&edit, &changes->items[i], err) < 0)
                return -1;
        }
        edit_add_keys(&edit, changes);
    }
    return splices_apply(&edit.splices, tree->source, out, err);
}

static bool has_removals(const struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->items[i].action == CHANGE_REMOVE)
            return true;
    }
    return false;
}

static int make_changes(const struct yaml_tree *tree, const char *line_end,
                        const struct changes *changes, struct buf *out, struct err *err)
{
    if (!has_removals(changes))
        return make_pass(tree, line_end, changes, false, out, err);
    BUF_AT_END struct buf less = BUF_INIT(FRONTMATTER_MAX);
    YAML_TREE_AT_END struct yaml_tree left = {0};
    if (make_pass(tree, line_end, changes, true, &less, err) < 0)
        return -1;
    if (read_yaml(&left, buf_str(&less), true, err) < 0)
        return err_set(err, ERR_INTERNAL, "removing a key would have damaged the front matter");
    return make_pass(&left, line_end, changes, false, out, err);
}

static int patch(struct str yaml, const char *line_end, const struct changes *changes,
                 struct buf *out, struct err *err)
{
    YAML_TREE_AT_END struct yaml_tree before = {0};
    YAML_TREE_AT_END struct yaml_tree now = {0};
    struct entries root = {0};
    if (read_yaml(&before, yaml, false, err) < 0)
        return -1;
    int r = entries_read(&root, &before, 0, err);
    if (r == 0)
        r = changes_keep_anchors(changes, &before, &root, err);
    entries_done(&root);
    if (r < 0 || make_changes(&before, line_end, changes, out, err) < 0)
        return -1;
    struct err why;
    if (read_yaml(&now, buf_str(out), false, &why) < 0 ||
        !changes_were_made(changes, &before, &now))
        return err_set(err, ERR_INTERNAL, "the change would have damaged the front matter");
    return 0;
}

int frontmatter_patch(struct str file, yyjson_val *update, struct buf *out, struct err *err)
{
    BUF_AT_END struct buf yaml = BUF_INIT(FRONTMATTER_MAX);
    CLEANUP(changes_done) struct changes changes = {0};
    struct parts parts = {0};
    if (changes_read(&changes, update, err) < 0 || find_parts(file, &parts, err) < 0)
        return -1;
    struct str old = {file.p + parts.start, parts.end - parts.start};
    if (patch(old, parts.line_end, &changes, &yaml, err) < 0)
        return -1;
    if (buf_reserve(out, file.n - old.n + yaml.len) < 0)
        return out->no_memory ? err_no_memory(err)
                              : err_set(err, ERR_TOO_LARGE, "the file would become too large");
    buf_add(out, file.p, parts.start);
    buf_add(out, yaml.data, yaml.len);
    buf_add(out, file.p + parts.end, file.n - parts.end);
    return 0;
}
