/* Changes as git writes them. */
#include <string.h>

#include "session/changes.h"

static bool is_quoted_in_patch(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

/* A name with control characters is quoted, so that a line is a line. `side` is "a/", "b/" or "". */
static void add_git_name(struct buf *out, const char *side, struct str path)
{
    bool odd = false;
    for (size_t i = 0; i < path.n; i++)
        odd |= is_quoted_in_patch(path.p[i]);
    buf_add_text(out, odd ? "\"" : "");
    buf_add_text(out, side);
    for (size_t i = 0; i < path.n; i++) {
        if (is_quoted_in_patch(path.p[i]))
            buf_addf(out, "\\%03o", (unsigned)(unsigned char)path.p[i]);
        else
            buf_add_char(out, path.p[i]);
    }
    buf_add_text(out, odd ? "\"" : "");
}

/* On a line of its own a name with a space has a tab behind it. */
static void add_git_name_line(struct buf *out, const char *head, const char *side, struct str path)
{
    buf_add_text(out, head);
    add_git_name(out, side, path);
    buf_add_text(out, memchr(path.p, ' ', path.n) && *side ? "\t\n" : "\n");
}

static bool is_for_git(const struct op_node *node)
{
    return node->type == NODE_FILE || node->type == NODE_LINK;
}

static unsigned git_mode(const struct op_node *node)
{
    return node->type == NODE_LINK ? 0120000 : node->mode & 0100 ? 0100755 : 0100644;
}

static void add_patch_head(struct buf *out, struct str from, struct str to)
{
    buf_add_text(out, "diff --git ");
    add_git_name(out, "a/", from);
    buf_add_char(out, ' ');
    add_git_name(out, "b/", to);
    buf_add_char(out, '\n');
}

/* Each line of a link's target, the last of which has no end. */
static void add_link_hunk(struct buf *out, char sign, struct str target)
{
    size_t lines = 1;
    for (size_t i = 0; i < target.n; i++)
        lines += target.p[i] == '\n' && i + 1 < target.n;
    buf_addf(out, sign == '+' ? "@@ -0,0 +1,%zu @@\n" : "@@ -1,%zu +0,0 @@\n", lines);
    buf_add_char(out, sign);
    for (size_t i = 0; i < target.n; i++) {
        buf_add_char(out, target.p[i]);
        if (target.p[i] == '\n' && i + 1 < target.n)
            buf_add_char(out, sign);
    }
    bool ended = target.n && target.p[target.n - 1] == '\n';
    buf_add_text(out, ended ? "" : "\n\\ No newline at end of file\n");
}

/* Without the two lines of names, which say other things here. */
static struct str hunks_of(struct str diff)
{
    for (int i = 0; i < 2; i++) {
        const char *end = diff.n ? memchr(diff.p, '\n', diff.n) : NULL;
        size_t n = end ? (size_t)(end - diff.p) + 1 : diff.n;
        diff.p += n;
        diff.n -= n;
    }
    return diff;
}

static void add_content(struct buf *out, const struct op_node *from, const struct op_node *to,
                        struct str from_path, struct str to_path, bool binary, struct str diff)
{
    const struct op_node *link = from && from->type == NODE_LINK ? from
                                 : to && to->type == NODE_LINK   ? to
                                                                 : NULL;
    if (binary) {
        buf_add_text(out, "Binary files ");
        add_git_name(out, "a/", from_path);
        buf_add_text(out, " and ");
        add_git_name(out, "b/", to_path);
        buf_add_text(out, " differ\n");
        return;
    }
    if (!link && hunks_of(diff).n == 0)
        return;
    if (from)
        add_git_name_line(out, "--- ", "a/", from_path);
    else
        buf_add_text(out, "--- /dev/null\n");
    if (to)
        add_git_name_line(out, "+++ ", "b/", to_path);
    else
        buf_add_text(out, "+++ /dev/null\n");
    if (link)
        add_link_hunk(out, from ? '-' : '+', link->target);
    else
        buf_add(out, hunks_of(diff).p, hunks_of(diff).n);
}

static void add_removed(const struct change *c, bool binary, struct str diff, struct buf *out)
{
    add_patch_head(out, c->of.path, c->of.path);
    buf_addf(out, "deleted file mode %06o\n", git_mode(&c->of.before));
    add_content(out, &c->of.before, NULL, c->of.path, c->of.path,
                binary && c->of.before.type == NODE_FILE, diff);
}

static void add_made(const struct change *c, bool binary, struct str diff, struct buf *out)
{
    add_patch_head(out, c->of.path, c->of.path);
    buf_addf(out, "new file mode %06o\n", git_mode(&c->of.after));
    add_content(out, NULL, &c->of.after, c->of.path, c->of.path,
                binary && c->of.after.type == NODE_FILE, diff);
}

/* Two links with other targets are one removed and one made. */
static bool stays_file(const struct change *c)
{
    return c->was->type == NODE_FILE && c->of.after.type == NODE_FILE;
}

void change_write_patch(const struct change *c, bool binary, struct str diff, struct buf *out)
{
    if (!stays_file(c)) {
        if (is_for_git(&c->of.before))
            add_removed(c, binary, diff, out);
        if (is_for_git(&c->of.after))
            add_made(c, binary, diff, out);
        return;
    }
    unsigned was = git_mode(c->was);
    unsigned now = git_mode(&c->of.after);
    struct str from = c->from.n ? c->from : c->of.path;
    if (was == now && c->kind == CHANGE_MODE)
        return;
    add_patch_head(out, from, c->of.path);
    if (was != now)
        buf_addf(out, "old mode %06o\nnew mode %06o\n", was, now);
    if (c->from.n) {
        buf_add_text(out, "similarity index 100%\n");
        add_git_name_line(out, "rename from ", "", from);
        add_git_name_line(out, "rename to ", "", c->of.path);
    } else if (c->kind == CHANGE_MODIFIED) {
        add_content(out, c->was, &c->of.after, from, c->of.path, binary, diff);
    }
}

bool change_needs_diff(const struct change *c)
{
    bool content = c->of.before.type == NODE_FILE || c->of.after.type == NODE_FILE;
    return content && c->kind != CHANGE_RENAMED && c->kind != CHANGE_MODE;
}

bool change_fits_patch(const struct change *c, bool binary)
{
    if (binary || c->of.unread || c->of.before.type == NODE_OTHER || c->of.after.type == NODE_OTHER)
        return false;
    return c->kind != CHANGE_MODE || c->of.after.type != NODE_FILE ||
           git_mode(c->was) != git_mode(&c->of.after);
}
