#include "front/review_summary.h"

#include <string.h>

#include "base/mem.h"
#include "base/shown.h"
#include "core/op.h"
#include "session/commit_plan.h"

/* Lines of more changes are not counted: each is read and compared. */
#define COUNTED_MAX 200
#define NAMED_MAX 8
#define NAME_SHOWN 200
#define FOLDER_SHOWN 4096

struct lines {
    bool known;
    size_t added;
    size_t removed;
};

static void count_patch(struct str patch, struct lines *lines)
{
    static const char head[] = "diff --git ";
    bool in_hunk = false;
    for (const char *at = patch.p, *end = patch.p + patch.n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        if (n >= sizeof head - 1 && memcmp(at, head, sizeof head - 1) == 0)
            in_hunk = false;
        else if (n >= 2 && memcmp(at, "@@", 2) == 0)
            in_hunk = true;
        else if (in_hunk && n) {
            lines->added += *at == '+';
            lines->removed += *at == '-';
        }
        at += n + 1;
    }
}

static int count_lines_of(struct session_changes *c, struct lines *ret, struct err *err)
{
    *ret = (struct lines){.known = session_changes_count(c) <= COUNTED_MAX};
    for (size_t i = 0; ret->known && i < c->list.n; i++) {
        BUF_AT_END struct buf patch = BUF_INIT(OP_BODY_MAX);
        bool whole;
        if (c->list.all[i].gone)
            continue;
        if (session_changes_patch(c, &c->list.all[i], &whole, &patch, err) < 0)
            return -1;
        count_patch(buf_str(&patch), ret);
    }
    return 0;
}

static bool lies_in_git(const struct change *c)
{
    return c->of.git;
}

static bool stays_always(const struct change *c)
{
    return c->of.special || c->of.unread || c->of.secret;
}

static bool runs_code(const struct change *c)
{
    return commit_runs_code(c) && !lies_in_git(c) && !stays_always(c);
}

static void add_counts(const struct session_changes *c, const struct lines *lines, struct buf *out)
{
    size_t kinds[CHANGE_KINDS] = {0};
    const char *before = ": ";
    for (size_t i = 0; i < c->list.n; i++)
        kinds[c->list.all[i].kind] += !c->list.all[i].gone;
    for (size_t i = 0; i < CHANGE_KINDS; i++) {
        if (kinds[i] == 0)
            continue;
        buf_addf(out, "%s%zu %s", before, kinds[i], change_kind_names[i]);
        before = ", ";
    }
    if (lines->known)
        buf_addf(out, " (+%zu -%zu lines)", lines->added, lines->removed);
    buf_add_char(out, '\n');
}

static bool is_program(const struct op_node *node)
{
    return node->type == NODE_FILE && node->mode & 0111;
}

static bool is_new_program(const struct change *c)
{
    return is_program(&c->of.after) && !is_program(c->was);
}

/* Nothing where there are none. */
static void add_names(const struct session_changes *c, bool (*which)(const struct change *c),
                      const char *what, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->list.n; i++) {
        const struct change *change = &c->list.all[i];
        if (change->gone || !which(change) || n++ >= NAMED_MAX)
            continue;
        buf_addf(out, "%s", n == 1 ? what : ", ");
        shown_line(change->of.path, NAME_SHOWN, out);
    }
    if (n > NAMED_MAX)
        buf_addf(out, " and %zu more", n - NAMED_MAX);
    if (n)
        buf_add_char(out, '\n');
}

static void add_change_list(const struct session_changes *c, size_t rows, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->list.n; i++) {
        if (c->list.all[i].gone || n++ >= rows)
            continue;
        buf_addf(out, "%4zu  ", n);
        change_write_line(&c->list.all[i], out);
    }
    if (n > rows)
        buf_addf(out, "  (%zu more: l lists all)\n", n - rows);
}

void review_list_all(const struct session_changes *c, struct buf *out)
{
    add_change_list(c, SIZE_MAX, out);
}

int review_summary(struct session_changes *c, const struct named *named, size_t rows,
                   struct buf *out, struct err *err)
{
    struct lines lines;
    size_t n = session_changes_count(c);
    if (count_lines_of(c, &lines, err) < 0)
        return -1;
    buf_addf(out, "sandgate: session %s keeps %zu %s of ", named->id, n,
             n == 1 ? "change" : "changes");
    shown_line((struct str){named->workspace, strlen(named->workspace)}, FOLDER_SHOWN, out);
    add_counts(c, &lines, out);
    add_change_list(c, rows, out);
    add_names(c, is_new_program, "new programs: ", out);
    add_names(c, runs_code, "would run code on this machine, or steer programs: ", out);
    add_names(c, lies_in_git, "in git directories, which are not taken over: ", out);
    add_names(c, stays_always, "never taken over (secret, unreadable, devices): ", out);
    return out->failed ? err_set(err, ERR_TOO_LARGE, "the list of changes is too long") : 0;
}
