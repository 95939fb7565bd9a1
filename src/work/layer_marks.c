#include "work/layer_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/git_leads.h"
#include "work/guard_trees.h"

#define RECORD_MAX OP_BODY_MAX

struct placed {
    struct op_changed of;
    size_t place; /* of several for one path the last one counts */
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    int order = str_compare(x->of.path, y->of.path);
    return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

/* What was cut off in the middle of being written is the last entry. */
static void take_record(struct layer_marks *marks)
{
    struct placed *all = NULL;
    size_t n = 0;
    struct str rest = buf_str(&marks->record);
    for (struct op_changed one; op_changed_next(&rest, &one) > 0; n++) {
        if ((n & (n - 1)) == 0)
            all = mem_grow(all, n ? 2 * n : 1, sizeof *all);
        all[n] = (struct placed){one, n};
    }
    if (n == 0)
        return;
    qsort(all, n, sizeof *all, compare_placed);
    marks->known = mem_zero(n * sizeof *marks->known);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || str_compare(all[i].of.path, all[i + 1].of.path) != 0)
            marks->known[marks->n++] = all[i].of;
    }
    free(all);
}

static int add_record(void *arg, const char *bytes, size_t n)
{
    return buf_add(arg, bytes, n);
}

int layer_marks_read(struct layer_marks *marks, struct work *w, int layer, int64_t since_ns,
                     struct err *err)
{
    *marks = (struct layer_marks){.w = w, .since_ns = since_ns, .record = BUF_INIT(RECORD_MAX)};
    FD_AT_END int fd = beneath_open_child_file(layer, LAYER_RECORD);
    if (fd < 0 && errno == ENOENT)
        return 0;
    ssize_t n = fd < 0 ? -1 : 1;
    int r = 0;
    while (n > 0 && r == 0 && (n = read(fd, w->chunk, WORK_CHUNK)) > 0)
        r = add_record(&marks->record, w->chunk, (size_t)n);
    if (n < 0 || r < 0)
        return err_set(err, err_code_for(n < 0 ? errno : -r, ERR_INTERNAL),
                       "reading what the session changed first: %s", strerror(n < 0 ? errno : -r));
    take_record(marks);
    return 0;
}

void layer_marks_done(struct layer_marks *marks)
{
    free(marks->known);
    buf_done(&marks->record);
    *marks = (struct layer_marks){.n = 0};
}

static const struct op_changed *find_known(const struct layer_marks *marks, struct str path)
{
    size_t low = 0;
    for (size_t high = marks->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(path, marks->known[middle].path);
        if (order == 0)
            return &marks->known[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct op_changed *layer_marks_find(const struct layer_marks *marks, struct str path)
{
    const struct op_changed *known = find_known(marks, path);
    for (size_t n = path.n; !known && n-- > 0;) {
        if (path.p[n] != '/')
            continue;
        const struct op_changed *around = find_known(marks, (struct str){path.p, n});
        if (around && around->before.type == NODE_NONE)
            return around;
    }
    return known;
}

static int64_t changed_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

/* A folder that was copied up is not there any more. Of a file that would say nothing: it keeps the mark when it is moved. */
static bool was_removed(const struct layer_sides *at)
{
    return at->to && S_ISDIR(at->to->st_mode) && layer_is_copy(at->upper, at->name);
}

/* A commit of this session put something there, which changed its time. */
static bool is_known_in(const struct layer_marks *marks, struct str folder)
{
    for (size_t i = 0; i < marks->n; i++) {
        if (path_lies_in(marks->known[i].path, folder))
            return true;
    }
    return false;
}

/* Of a folder that the session removed all goes, also where it made it anew, and what came with another folder in its place has
 * kept its times. */
static bool is_hidden_late(const struct layer_marks *marks, const struct layer_sides *at,
                           const struct op_changed *c)
{
    struct stat st;
    struct stat mark;
    size_t n = c->path.n;
    /* In one that is gone the folder itself is in conflict; what was removed by itself has a mark of its own. */
    if (at->to || at->upper < 0 || fstatat(at->upper, at->name, &mark, AT_SYMLINK_NOFOLLOW) == 0 ||
        fstat(at->base, &st) < 0)
        return false;
    while (n > 0 && c->path.p[n - 1] != '/')
        n--;
    return changed_ns(&st) > marks->since_ns &&
           !is_known_in(marks, (struct str){c->path.p, n ? n - 1 : 0});
}

/* A folder's time changes with what is made in it, which says nothing about the folder itself, unless all of it goes. */
static bool is_late(const struct layer_marks *marks, const struct layer_sides *at,
                    const struct op_changed *c)
{
    if (!at->from)
        return was_removed(at);
    if (is_hidden_late(marks, at, c))
        return true;
    if (changed_ns(at->from) <= marks->since_ns)
        return false;
    return c->before.type != NODE_FOLDER ||
           (c->after.type != NODE_FOLDER && !is_known_in(marks, c->path));
}

static bool is_in_conflict(const struct layer_marks *marks, const struct layer_sides *at,
                           const struct op_changed *c)
{
    const struct op_changed *known = layer_marks_find(marks, c->path);
    if (!known)
        return is_late(marks, at, c);
    /* A folder around it was not there, and so this was not. */
    if (known->path.n != c->path.n)
        return c->before.type != NODE_NONE && c->before.type != NODE_FOLDER;
    return known->conflict || !layer_node_is_same(&known->before, &c->before);
}

/* Of others it would lose what it is, or the owner that it has: the cell knows one user. */
static bool is_never_taken(const struct op_changed *c, const struct stat *from,
                           const struct stat *to)
{
    bool kept = c->before.type != NODE_OTHER && c->after.type != NODE_OTHER;
    if (!from || !kept)
        return !kept;
    if (to && (from->st_uid != to->st_uid || from->st_gid != to->st_gid))
        return true;
    /* To set the mode of such a folder would take the bit away. */
    return c->before.type == NODE_FOLDER && c->after.type == NODE_FOLDER &&
           (c->before.mode & S_ISGID);
}

/* By its name, and by what a link of such a name would be. */
static enum guard_verdict verdict_of_change(const struct layer_marks *marks,
                                            const struct op_changed *c)
{
    const char *rule;
    bool folder = c->before.type == NODE_FOLDER || c->after.type == NODE_FOLDER;
    bool link = c->before.type == NODE_LINK || c->after.type == NODE_LINK;
    enum guard_verdict verdict = guard_judge(marks->w->guard, c->path, folder, &rule);
    enum guard_verdict as_link = link ? guard_judge_link(marks->w->guard, c->path, &rule) : verdict;
    if (as_link > verdict)
        verdict = as_link;
    /* A link `.cargo` makes `.cargo/config.toml` of what lies where it leads. */
    if (link && verdict == GUARD_OPEN && guard_holds(marks->w->guard, c->path, &rule) != GUARD_OPEN)
        verdict = GUARD_PROTECTED;
    return verdict;
}

static bool is_obeyed(const struct op_guarded *one)
{
    return one->kind == GUARDED_PROTECTED || one->kind == GUARDED_GIT || one->kind == GUARDED_PART;
}

/* Of what a scan found, and of what is not there yet: the change is of it, lies in it, or is a link on the way to it.
 * `leads`: where a link of the project leads that is another then, or none. */
static bool is_found(const struct layer_marks *marks, const struct op_changed *c, const char *leads,
                     bool (*counts)(const struct op_guarded *one))
{
    bool link = c->before.type == NODE_LINK || c->after.type == NODE_LINK;
    struct str old = {leads, strlen(leads)};
    struct str rest = marks->found;
    struct op_guarded one;
    while (op_guarded_next(&rest, &one) > 0) {
        if (!counts(&one))
            continue;
        if (path_is_in(c->path, one.path) || (link && path_lies_in(one.path, c->path)) ||
            (old.n && (path_is_in(old, one.path) || path_lies_in(one.path, old))))
            return true;
    }
    return false;
}

/* What a protected link of the project leads to, or the settings of its repositories, is obeyed as well. */
static bool is_found_obeyed(const struct layer_marks *marks, const struct op_changed *c)
{
    char leads[PATH_TEXT_MAX] = "";
    char path[PATH_TEXT_MAX];
    bool link = c->before.type == NODE_LINK || c->after.type == NODE_LINK;
    if (!marks->since_ns)
        return false;
    snprintf(path, sizeof path, "%.*s", (int)c->path.n, c->path.p);
    if (c->before.type == NODE_LINK && !git_leads_where(marks->root, path, leads))
        leads[0] = '\0';
    return is_found(marks, c, leads, is_obeyed) || guard_trees_lead(marks->root, c->path, link);
}

static bool is_secret_kind(const struct op_guarded *one)
{
    return one->kind == GUARDED_SECRET;
}

void layer_mark(const struct layer_marks *marks, const struct layer_sides *sides,
                struct op_changed *c)
{
    enum guard_verdict verdict = verdict_of_change(marks, c);
    c->secret = verdict == GUARD_SECRET || is_found(marks, c, "", is_secret_kind);
    c->git |= strcmp(sides->name, ".git") == 0;
    c->guarded = !c->git && (verdict == GUARD_PROTECTED || is_found_obeyed(marks, c));
    c->special = is_never_taken(c, sides->from, sides->to);
    c->conflict = marks->since_ns && is_in_conflict(marks, sides, c);
}

/* What the session removed counts: its removal need not be taken over with the rest. */
static bool has_git_part(int base, int upper, const char *name)
{
    struct stat st;
    if (upper >= 0 && fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !layer_is_whiteout(&st))
        return true;
    return base >= 0 && fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool layer_makes_git(int base, int upper)
{
    return upper >= 0 && has_git_part(base, upper, "HEAD") &&
           (has_git_part(base, upper, "commondir") ||
            (has_git_part(base, upper, "objects") && has_git_part(base, upper, "refs")));
}
