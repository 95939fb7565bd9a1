#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "work/beneath_walk.h"
#include "work/git_leads.h"
#include "work/guard_trees.h"

#define SHOWN 100

bool beneath_counts(enum guard_verdict verdict, unsigned flags)
{
    return verdict == GUARD_SECRET || (verdict == GUARD_PROTECTED && !(flags & BENEATH_ONLY_READ));
}

/* A command can move a folder to where an exception holds, and back. What was guarded before stays so for tools. */
enum guard_verdict beneath_verdict(const struct beneath_root *root, struct str path, int dir,
                                   bool is_folder, const char **ret_rule)
{
    const char *rule;
    enum guard_verdict verdict = guard_judge(root->guard, path, is_folder, ret_rule);
    if (verdict == GUARD_SECRET || !root->trees || !root->guard)
        return verdict;
    enum guard_verdict before = guard_judge_elsewhere(root->guard, path, is_folder, &rule);
    if (before <= verdict || !guard_trees_know(root, path, dir))
        return verdict;
    *ret_rule = rule;
    return before;
}

static bool is_in_git(const struct beneath_root *root, struct beneath_real *real, int dir,
                      unsigned flags)
{
    struct beneath_look look = {.root = root,
                                .path = real->text,
                                .dir = dir,
                                .file = -1,
                                .git = true,
                                .carries = flags & BENEATH_CARRIES};
    enum beneath_found found = beneath_look(&look);
    real->error = look.error;
    real->moved = found == BENEATH_MOVED;
    return found == BENEATH_GUARDED;
}

/* As a mount over it would have it: nothing in it changes, and it stays where it is. */
static bool is_kept(const struct beneath_root *root, const char *path, unsigned flags)
{
    if (!root->kept || flags & BENEATH_ONLY_READ)
        return false;
    return path_rest(path, root->kept) || (flags & BENEATH_CARRIES && path_rest(root->kept, path));
}

bool beneath_is_refused(const struct beneath_root *root, struct beneath_real *real, int dir,
                        unsigned flags)
{
    struct str path = {real->text, strlen(real->text)};
    real->holds = false;
    real->error = 0;
    real->moved = false;
    if (is_kept(root, real->text, flags)) {
        real->verdict = GUARD_PROTECTED;
        real->error = EROFS;
        return true;
    }
    real->verdict = beneath_verdict(root, path, -1, flags & BENEATH_FOLDER, &real->rule);
    if (real->link_verdict > real->verdict) {
        real->verdict = real->link_verdict;
        real->rule = real->link_rule;
    }
    if (real->verdict == GUARD_OPEN && flags & BENEATH_CARRIES) {
        real->verdict = guard_holds(root->guard, path, &real->rule);
        real->holds = true;
    }
    if (real->verdict == GUARD_OPEN && !(flags & BENEATH_ONLY_READ) &&
        guard_protects_git(root->guard) &&
        (is_in_git(root, real, dir, flags) ||
         beneath_is_led_to(root, real->text, flags & BENEATH_CARRIES, &real->error))) {
        real->verdict = GUARD_PROTECTED;
        real->rule = ".git";
        real->holds = false;
    }
    return beneath_counts(real->verdict, flags);
}

int beneath_refuse(const struct beneath_real *real, const char *path, struct err *err)
{
    if (real->error)
        return beneath_errno(err, real->error, path);
    bool secret = real->verdict == GUARD_SECRET;
    const char *word = secret ? "secret" : "protected";
    int n = (int)utf8_cut(path, strnlen(path, SHOWN));
    int m = (int)utf8_cut(real->text, strnlen(real->text, SHOWN));
    bool elsewhere = strcmp(path, real->text) != 0;
    const char *why = secret ? "tools do not see or change what is in it; ask the user"
                             : "a change could run code on the host; ask the user to make it";
    if (real->holds)
        err_set(
            err, ERR_PERMISSION_DENIED,
            "`%.*s` is on the way to what the rule files.%s `%.100s` names: it cannot be moved, "
            "deleted or put in place; ask the user to do it",
            n, path, word, real->rule);
    else
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s`%s%.*s%s is %s by the rule files.%s `%.100s`: %s", n, path,
                elsewhere ? " (it is `" : "", elsewhere ? m : 0, real->text, elsewhere ? "`)" : "",
                word, word, real->rule, why);
    return err_reason(err, word);
}

/* Where it leads is looked up only to be told: nothing was opened by it, and nothing will be. */
int beneath_refuse_other(const struct beneath_root *root, const char *path, struct err *err)
{
    struct beneath_root any = *root;
    struct beneath_walk w;
    struct beneath_real real;
    any.as_named = false;
    int r = beneath_walk_to(&w, &any, path, 0, &real);
    beneath_walk_done(&w);
    if (r == -EXDEV || r == -ELOOP)
        return beneath_errno(err, -r, path);
    int n = (int)utf8_cut(path, strnlen(path, SHOWN));
    if (r == 0 && strcmp(path, real.text) != 0)
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` is really `%.*s`, and a rule about paths decides here: use that path "
                "itself",
                n, path, (int)utf8_cut(real.text, strnlen(real.text, SHOWN)), real.text);
    else
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` leads through a symbolic link, and a rule about paths decides here: use "
                "the path that it leads to",
                n, path);
    return err_reason(err, "other_path");
}

unsigned beneath_kind(mode_t mode)
{
    /* Through a link a way would lead elsewhere. */
    return (S_ISDIR(mode) ? BENEATH_FOLDER : 0) | (S_ISREG(mode) ? 0 : BENEATH_CARRIES);
}

int beneath_judge(const struct beneath_root *root, const char *path, struct beneath_real *real,
                  unsigned flags, struct err *err)
{
    return beneath_is_refused(root, real, -1, flags) ? beneath_refuse(real, path, err) : 0;
}
