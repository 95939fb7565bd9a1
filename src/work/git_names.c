#include "work/git_names.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "work/git_state.h"

struct row {
    const char *path;
    git_check check;
};

static const struct row files[] = {
    {"ORIG_HEAD", git_is_ids},
    {"MERGE_HEAD", git_is_ids},
    {"CHERRY_PICK_HEAD", git_is_ids},
    {"REVERT_HEAD", git_is_ids},
    {"REBASE_HEAD", git_is_ids},
    {"AUTO_MERGE", git_is_ids},
    {"MERGE_AUTOSTASH", git_is_ids},
    {"FETCH_HEAD", git_is_fetch_head},
    {"MERGE_MSG", git_is_text},
    {"MERGE_MODE", git_is_word},
    {"SQUASH_MSG", git_is_text},
    {"COMMIT_EDITMSG", git_is_text},
    {"TAG_EDITMSG", git_is_text},
    {"NOTES_EDITMSG", git_is_text},
    {"shallow", git_is_ids},
    {"BISECT_LOG", git_is_text},
    {"BISECT_RUN", git_is_text},
    {"BISECT_START", git_is_branch},
    {"BISECT_TERMS", git_is_terms},
    {"BISECT_NAMES", git_is_quoted_words},
    {"BISECT_EXPECTED_REV", git_is_ids},
    {"BISECT_ANCESTORS_OK", git_is_blank},
    {"BISECT_FIRST_PARENT", git_is_blank},

    {"rebase-merge/git-rebase-todo", git_is_todo},
    {"rebase-merge/git-rebase-todo.backup", git_is_todo},
    {"rebase-merge/done", git_is_todo},
    {"rebase-merge/author-script", git_is_author_script},
    {"rebase-merge/head-name", git_is_head_name},
    {"rebase-merge/onto", git_is_ids},
    {"rebase-merge/orig-head", git_is_ids},
    {"rebase-merge/squash-onto", git_is_ids},
    {"rebase-merge/amend", git_is_id_or_none},
    {"rebase-merge/autostash", git_is_ids},
    {"rebase-merge/stopped-sha", git_is_short_id},
    {"rebase-merge/end", git_is_word},
    {"rebase-merge/msgnum", git_is_word},
    {"rebase-merge/interactive", git_is_word},
    {"rebase-merge/quiet", git_is_word},
    {"rebase-merge/verbose", git_is_word},
    {"rebase-merge/signoff", git_is_word},
    {"rebase-merge/drop_redundant_commits", git_is_blank},
    {"rebase-merge/keep_redundant_commits", git_is_blank},
    {"rebase-merge/reschedule-failed-exec", git_is_blank},
    {"rebase-merge/no-reschedule-failed-exec", git_is_blank},
    {"rebase-merge/cdate_is_adate", git_is_blank},
    {"rebase-merge/ignore_date", git_is_blank},
    {"rebase-merge/allow_rerere_autoupdate", git_is_word},
    {"rebase-merge/strategy", git_is_strategy},
    {"rebase-merge/strategy_opts", git_is_quoted_words},
    {"rebase-merge/gpg_sign_opt", git_is_sign_option},
    {"rebase-merge/message", git_is_text},
    {"rebase-merge/message-squash", git_is_text},
    {"rebase-merge/message-fixup", git_is_text},
    {"rebase-merge/current-fixups", git_is_text},
    {"rebase-merge/patch", git_is_text},
    {"rebase-merge/rewritten-list", git_is_id_pairs},
    {"rebase-merge/rewritten-pending", git_is_ids},
    {"rebase-merge/refs-to-delete", git_is_refs_or_ids},
    {"rebase-merge/update-refs", git_is_refs_or_ids},

    {"rebase-apply/author-script", git_is_author_script},
    {"rebase-apply/head-name", git_is_head_name},
    {"rebase-apply/onto", git_is_ids},
    {"rebase-apply/orig-head", git_is_ids},
    {"rebase-apply/original-commit", git_is_ids},
    {"rebase-apply/abort-safety", git_is_id_or_none},
    {"rebase-apply/autostash", git_is_ids},
    {"rebase-apply/apply-opt", git_is_blank},
    {"rebase-apply/gpg_sign_opt", git_is_sign_option},
    {"rebase-apply/final-commit", git_is_text},
    {"rebase-apply/patch", git_is_text},
    {"rebase-apply/rewritten", git_is_id_pairs},
    {"rebase-apply/next", git_is_word},
    {"rebase-apply/last", git_is_word},
    {"rebase-apply/applying", git_is_word},
    {"rebase-apply/rebasing", git_is_word},
    {"rebase-apply/threeway", git_is_word},
    {"rebase-apply/quiet", git_is_word},
    {"rebase-apply/sign", git_is_word},
    {"rebase-apply/utf8", git_is_word},
    {"rebase-apply/keep", git_is_word},
    {"rebase-apply/messageid", git_is_word},
    {"rebase-apply/scissors", git_is_word},
    {"rebase-apply/no_inbody_headers", git_is_word},
    {"rebase-apply/quoted-cr", git_is_word},
    {"rebase-apply/dirtyindex", git_is_word},
    {"rebase-apply/allow_rerere_autoupdate", git_is_word},

    {"sequencer/todo", git_is_pick_todo},
    {"sequencer/opts", git_is_sequence_options},
    {"sequencer/head", git_is_ids},
    {"sequencer/abort-safety", git_is_id_or_none},
};

static const char *const groups[] = {"rebase-merge/", "rebase-apply/", "sequencer/"};

static bool is_digits(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n == 4;
}

bool git_is_lock(struct str path)
{
    return str_ends(path, STR(".lock"));
}

bool git_is_among_refs(struct str path)
{
    return str_begins(path, STR("refs/")) || str_begins(path, STR("logs/"));
}

bool git_is_among_objects(struct str path)
{
    return str_begins(path, STR("objects/"));
}

static enum git_kind pack_kind(struct str name, unsigned hex)
{
    static const char *const parts[] = {".pack", ".idx", ".rev", ".bitmap", ".mtimes"};
    if (!str_begins(name, STR("pack-")) || name.n < 5 + hex ||
        !git_is_id((struct str){name.p + 5, hex}, hex))
        return GIT_UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_is(str_behind(name, 5 + hex), parts[i]))
            return GIT_PACK;
    }
    return GIT_UNKNOWN;
}

/* `path` is what stands behind `objects/`. */
static enum git_kind object_kind(struct str path, unsigned hex)
{
    char id[GIT_SHA256_HEX];
    if (str_begins(path, STR("pack/")))
        return pack_kind(str_behind(path, strlen("pack/")), hex);
    if (path.n != (size_t)hex + 1 || path.p[2] != '/')
        return GIT_UNKNOWN;
    memcpy(id, path.p, 2);
    memcpy(id + 2, path.p + 3, hex - 2);
    return git_is_id((struct str){id, hex}, hex) ? GIT_OBJECT : GIT_UNKNOWN;
}

static enum git_kind log_kind(struct str name)
{
    return str_is(name, "HEAD") || (git_is_ref_name(name) && !git_replaces(name)) ? GIT_LOG
                                                                                  : GIT_UNKNOWN;
}

static enum git_kind known_kind(struct str path, unsigned hex)
{
    if (str_is(path, "HEAD"))
        return GIT_HEAD;
    if (str_is(path, "index"))
        return GIT_INDEX;
    if (str_is(path, "packed-refs"))
        return GIT_PACKED_REFS;
    if (str_begins(path, STR("objects/")))
        return object_kind(str_behind(path, strlen("objects/")), hex);
    if (git_is_lock(path))
        return GIT_UNKNOWN;
    if (str_begins(path, STR("refs/")))
        return git_is_ref_name(path) && !git_replaces(path) ? GIT_REF : GIT_UNKNOWN;
    if (str_begins(path, STR("logs/")))
        return log_kind(str_behind(path, strlen("logs/")));
    return GIT_STATE;
}

static git_check state_check(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (str_is(path, files[i].path))
            return files[i].check;
    }
    /* The mails of a series. */
    if (str_begins(path, STR("rebase-apply/")) &&
        is_digits(str_behind(path, strlen("rebase-apply/"))))
        return git_is_text;
    return NULL;
}

/* The path in the submodule, or the other worktree, that it belongs to. False: there was none. */
static bool enter_inner_git(struct str path, struct str *inner, git_is_repository is, void *arg)
{
    while (str_begins(*inner, STR("modules/")) || str_begins(*inner, STR("worktrees/"))) {
        bool one = (*inner).p[0] == 'w'; /* whose names have one part */
        size_t at = (size_t)(inner->p - path.p) + (one ? strlen("worktrees/") : strlen("modules/"));
        bool found = false;
        while (!found && at < path.n) {
            const char *slash = memchr(path.p + at, '/', path.n - at);
            if (!slash)
                return false;
            at = (size_t)(slash - path.p);
            found = is(arg, (struct str){path.p, at});
            if (one && !found)
                return false;
            at++;
        }
        if (!found)
            return false;
        *inner = str_behind(path, at);
    }
    return true;
}

struct git_name git_name_of(struct str path, unsigned hex, git_is_repository is, void *arg)
{
    struct git_name name = {.kind = GIT_UNKNOWN, .inner = path};
    if (!enter_inner_git(path, &name.inner, is, arg))
        return name;
    name.kind = known_kind(name.inner, hex);
    if (name.kind == GIT_HEAD || name.kind == GIT_REF)
        name.check = git_is_ref;
    else if (name.kind == GIT_LOG)
        name.check = git_is_log;
    else if (name.kind == GIT_STATE)
        name.check = state_check(name.inner);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        if (str_begins(name.inner, str_of(groups[i])))
            name.group = (size_t)(name.inner.p - path.p) + strlen(groups[i]);
    }
    if (name.kind == GIT_STATE && !name.check)
        name.kind = GIT_UNKNOWN;
    return name;
}

bool git_may_remove(const struct git_name *name)
{
    return name->kind == GIT_REF || name->kind == GIT_STATE || name->group > 0 ||
           (name->kind == GIT_LOG && !str_is(name->inner, "logs/HEAD"));
}
