#include "work/subtree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "work/beneath_walk.h"
#include "work/guard_trees.h"

#define SHOWN 100
/* As deep as folders are gone into, with names of any length. */
#define PATHS_MAX ((size_t)256 * (PATH_NAME_MAX + 1) + BENEATH_REAL_MAX)

/* A folder on the way to what the rules name is mounted over itself for commands. What covers an entry elsewhere does not
 * cover it there, nor the other way round, until the next scan. */
static bool is_pinned(const struct beneath_root *root, const char *path)
{
    const char *rule;
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        struct str folder = {path, (size_t)(slash - path)};
        if (guard_holds(root->guard, folder, &rule) != GUARD_OPEN)
            return true;
    }
    return root->trees && guard_trees_pin(root, (struct str){path, strlen(path)});
}

void subtree_init(struct subtree *s, const struct beneath_root *root, const char *path,
                  const struct git_move *move)
{
    const char *to = move ? move->to : NULL;
    *s = (struct subtree){.root = *root, .moves = to != NULL, .move = move};
    buf_init(&s->path, PATHS_MAX);
    buf_init(&s->moved, PATHS_MAX);
    buf_add(&s->path, path, strlen(path));
    if (to)
        buf_add(&s->moved, to, strlen(to));
    s->leads = !to && root->trees && guard_protects_git(root->guard) && guard_trees_has_leads(root);
    s->crosses = to && (is_pinned(root, path) || is_pinned(root, to));
}

void subtree_done(struct subtree *s)
{
    buf_done(&s->path);
    buf_done(&s->moved);
}

static void add_subtree_name(struct buf *path, const char *name)
{
    if (path->len)
        buf_add_char(path, '/');
    buf_add(path, name, strlen(name));
}

static void drop_name(struct buf *path)
{
    const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;
    path->len = slash ? (size_t)(slash - path->data) : 0;
}

void subtree_enter(struct subtree *s, const char *name)
{
    add_subtree_name(&s->path, name);
    if (s->moves)
        add_subtree_name(&s->moved, name);
}

void subtree_leave(struct subtree *s)
{
    drop_name(&s->path);
    if (s->moves)
        drop_name(&s->moved);
}

static bool is_lead(const struct subtree *s, int dir, const char *name)
{
    struct statx st;
    if (!s->leads || folder_stat(dir, name, &st) < 0)
        return false;
    struct tree_id id = folder_id(&st);
    return guard_trees_is_lead(&s->root, &id);
}

static bool keep_for_git(struct subtree *s)
{
    s->verdict = GUARD_PROTECTED;
    s->rule = ".git";
    return true;
}

/* A setting of the user's repository would name what an agent made at the new place. */
static bool would_lead_elsewhere(struct subtree *s, bool bare)
{
    if (!s->moves || !guard_protects_git(s->root.guard) || s->path.failed)
        return false;
    beneath_take_lack();
    s->led = beneath_leads_change(s->move, buf_str(&s->path), bare, s->lead);
    s->error = beneath_take_lack();
    return s->led || s->error;
}

bool subtree_keeps(struct subtree *s, int dir, const char *name, bool is_folder, bool *ret_same)
{
    const struct guard *guard = s->root.guard;
    const char *there = NULL;
    enum guard_verdict after = GUARD_OPEN;
    *ret_same = false;
    if (is_lead(s, dir, name)) {
        subtree_enter(s, name);
        return keep_for_git(s);
    }
    if (strcmp(name, ".git") == 0 && would_lead_elsewhere(s, false))
        return true;
    /* No rule ends with this name: what was found of the folder holds for it. */
    if (!guard_may_name(guard, (struct str){name, strlen(name)}))
        return false;
    subtree_enter(s, name);
    enum guard_verdict by_name = guard_judge(guard, buf_str(&s->path), is_folder, &s->rule);
    s->verdict = beneath_verdict(&s->root, buf_str(&s->path), dir, is_folder, &s->rule);
    if (s->moves)
        after = guard_judge(guard, buf_str(&s->moved), is_folder, &there);
    /* What is guarded by what it is stays so wherever it is moved. */
    if (s->moves && s->verdict != by_name)
        after = s->verdict;
    *ret_same = s->moves && after == s->verdict && after != GUARD_OPEN;
    if (s->verdict != after || (*ret_same && s->crosses) || s->path.failed || s->moved.failed) {
        s->rule = s->verdict >= after ? s->rule : there;
        s->verdict = s->verdict >= after ? s->verdict : after;
        return true;
    }
    s->verdict = GUARD_OPEN;
    subtree_leave(s);
    return false;
}

/* A git directory that is moved is one wherever it is. */
bool subtree_keeps_git(struct subtree *s, int fd)
{
    if (is_lead(s, fd, ""))
        return keep_for_git(s);
    if (!guard_protects_git(s->root.guard) || !beneath_is_git_directory(fd, (struct str){0}))
        return false;
    if (s->moves && !s->crosses)
        return would_lead_elsewhere(s, true);
    return keep_for_git(s);
}

int subtree_refuse(const struct subtree *s, const char *path, struct err *err)
{
    const char *word = s->verdict == GUARD_SECRET ? "secret" : "protected";
    struct str entry = buf_str(&s->path);
    int n = (int)utf8_cut(path, strnlen(path, SHOWN));
    int m = (int)utf8_cut(entry.p, entry.n > SHOWN ? SHOWN : entry.n);
    if (s->path.failed || s->moved.failed)
        return err_set(err, ERR_TOO_LARGE, "`%.*s` holds paths that are too long", n, path);
    if (s->error)
        return beneath_errno(err, s->error, path);
    if (s->led) {
        int k = (int)utf8_cut(s->lead, strnlen(s->lead, SHOWN));
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` holds a git repository at `%.*s`, whose settings lead to `%.*s`: after the "
                "move git would use another file there, so nothing was moved; ask the user to do "
                "it",
                n, path, m, entry.p, k, s->lead);
        return err_reason(err, "protected");
    }
    if (s->crosses)
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` holds `%.*s`, which is %s by the rule files.%s `%.100s`: it is not moved "
                "into or out of a folder on the way to what a rule names; ask the user to do it",
                n, path, m, entry.p, word, word, s->rule);
    else if (s->moves)
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` holds `%.*s`, and whether that is %s by the rule files.%s `%.100s` would "
                "change with the move: nothing was moved; ask the user to do it",
                n, path, m, entry.p, word, word, s->rule);
    else
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` holds `%.*s`, which is %s by the rule files.%s `%.100s`: nothing was "
                "removed; delete what is beside it, or ask the user to do it",
                n, path, m, entry.p, word, word, s->rule);
    return err_reason(err, word);
}
