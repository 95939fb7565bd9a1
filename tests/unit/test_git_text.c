/* Which files of a git directory may be taken over, and what they may hold. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "work/git_names.h"
#include "work/git_state.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define ID2 "fedcba9876543210fedcba9876543210fedcba98"
#define LONG_ID ID "0123456789abcdef01234567"
#define WHO " me <me@example> 1700000000 +0100"

static bool is_there(void *arg, struct str path)
{
    (void)arg;
    static const char *const there[] = {"modules/lib", "modules/a/b", "modules/lib/modules/in",
                                        "worktrees/w"};
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        if (path.n == strlen(there[i]) && memcmp(path.p, there[i], path.n) == 0)
            return true;
    }
    return false;
}

static struct git_name name_of(const char *path)
{
    return git_name_of((struct str){path, strlen(path)}, GIT_SHA1_HEX, is_there, NULL);
}

static void test_names(void **state)
{
    static const struct {
        const char *path;
        enum git_kind kind;
    } rows[] = {
        {"HEAD", GIT_HEAD},
        {"index", GIT_INDEX},
        {"packed-refs", GIT_PACKED_REFS},
        {"refs/heads/main", GIT_REF},
        {"refs/stash", GIT_REF},
        {"refs/heads/a/b", GIT_REF},
        {"logs/HEAD", GIT_LOG},
        {"logs/refs/heads/main", GIT_LOG},
        {"ORIG_HEAD", GIT_STATE},
        {"rebase-merge/git-rebase-todo", GIT_STATE},
        {"rebase-apply/0001", GIT_STATE},
        {"objects/01/23456789abcdef0123456789abcdef01234567", GIT_OBJECT},
        {"objects/pack/pack-" ID ".pack", GIT_PACK},
        {"objects/pack/pack-" ID ".idx", GIT_PACK},
        {"modules/lib/HEAD", GIT_HEAD},
        {"modules/a/b/refs/heads/x", GIT_REF},
        {"modules/lib/modules/in/index", GIT_INDEX},
        {"worktrees/w/HEAD", GIT_HEAD},
        {"index.lock", GIT_UNKNOWN},
        {"refs/heads/main.lock", GIT_UNKNOWN},
        {"objects/info/commit-graph", GIT_UNKNOWN},
        {"objects/01/tmp_obj_x", GIT_UNKNOWN},
        {"config", GIT_UNKNOWN},
        {"config.worktree", GIT_UNKNOWN},
        {"hooks/pre-commit", GIT_UNKNOWN},
        {"info/attributes", GIT_UNKNOWN},
        {"objects/info/alternates", GIT_UNKNOWN},
        {"objects/pack/pack-" ID ".promisor", GIT_UNKNOWN},
        {"objects/pack/pack-x.pack", GIT_UNKNOWN},
        {"objects/01/23", GIT_UNKNOWN},
        {"objects/01/23456789ABCDEF0123456789abcdef01234567", GIT_UNKNOWN},
        {"refs/replace/" ID, GIT_UNKNOWN},
        {"refs/heads/-x", GIT_UNKNOWN},
        {"refs/heads/a..b", GIT_UNKNOWN},
        {"refs/heads/a b", GIT_UNKNOWN},
        {"refs", GIT_UNKNOWN},
        {"logs/x", GIT_UNKNOWN},
        {"modules/new/HEAD", GIT_UNKNOWN},
        {"modules/lib/config", GIT_UNKNOWN},
        {"modules/lib/hooks/x", GIT_UNKNOWN},
        {"worktrees/w/commondir", GIT_UNKNOWN},
        {"worktrees/w/gitdir", GIT_UNKNOWN},
        {"worktrees/new/HEAD", GIT_UNKNOWN},
        {"commondir", GIT_UNKNOWN},
        {"remotes/x", GIT_UNKNOWN},
        {"rebase-merge/other", GIT_UNKNOWN},
        {"HEAD/x", GIT_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum git_kind kind = name_of(rows[i].path).kind;
        if (kind != rows[i].kind)
            fail_msg("%s: kind %d, not %d", rows[i].path, kind, rows[i].kind);
    }
    assert_int_equal(name_of("modules/lib/rebase-merge/x").group,
                     strlen("modules/lib/rebase-merge/"));
}

static void test_removal(void **state)
{
    static const char *const may[] = {"refs/heads/x", "MERGE_HEAD", "logs/refs/heads/x",
                                      "rebase-merge/other"};
    static const char *const never[] = {"HEAD",      "index",   "packed-refs",     "config",
                                        "logs/HEAD", "hooks/x", "modules/lib/HEAD"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(may); i++) {
        struct git_name name = name_of(may[i]);
        assert_true(git_may_remove(&name));
    }
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        struct git_name name = name_of(never[i]);
        assert_false(git_may_remove(&name));
    }
}

struct row {
    git_check check;
    bool ok;
    const char *text;
};

static void test_texts(void **state)
{
    static const struct row rows[] = {
        {git_is_ref, true, ID "\n"},
        {git_is_ref, true, ID},
        {git_is_ref, true, "ref: refs/heads/main\n"},
        {git_is_ref, false, "ref: heads/main\n"},
        {git_is_ref, false, "ref: refs/../x\n"},
        {git_is_ref, false, "ref:refs/heads/x\n"},
        {git_is_ref, false, "junk\n"},
        {git_is_ref, false, LONG_ID "\n"},
        {git_is_ref, false, ID "\n" ID "\n"},
        {git_is_ref, false, ""},
        {git_is_log, true, ""},
        {git_is_log, true, ID " " ID2 WHO "\tcommit: x; rm -rf\n"},
        {git_is_log, true, ID " " ID2 WHO "\n"},
        {git_is_log, false, ID " " ID2 WHO "\tx"},
        {git_is_log, false, ID " " ID2 " me\n"},
        {git_is_log, false, "; rm\n"},
        {git_is_log, false, ID " " ID2 WHO "\tx\r\n"},
        {git_is_fetch_head, true, ID "\t\tbranch 'main' of x\n" ID "\tnot-for-merge\ttag x\n"},
        {git_is_fetch_head, false, ID "\tother\tx\n"},
        {git_is_ids, true, ID "\n" ID2 "\n"},
        {git_is_ids, false, ID "\n\n"},
        {git_is_ids, false, ""},
        {git_is_word, true, "no-ff"},
        {git_is_word, false, "$(x)"},
        {git_is_short_id, true, "0123abc\n"},
        {git_is_short_id, false, "012"},
        {git_is_todo, true,
         "pick 0123 x\n# exec x\n\nlabel onto\nmerge -C 0123 x # y\nupdate-ref refs/heads/x\n"},
        {git_is_todo, false, "pick 0123 x\nexec rm\n"},
        {git_is_todo, false, "  exec rm\n"},
        {git_is_todo, false, "x rm\n"},
        {git_is_todo, false, "x\trm\n"},
        {git_is_todo, false, "unknown\n"},
        {git_is_pick_todo, true, "pick 0123 x\nrevert 01 y\n"},
        {git_is_pick_todo, false, "edit 0123 x\n"},
        {git_is_author_script, true,
         "GIT_AUTHOR_NAME='O'\\''Neil'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0000'\n"},
        {git_is_author_script, false, "GIT_AUTHOR_NAME='x'; rm\n"},
        {git_is_author_script, false, "GIT_AUTHOR_NAME=$(x)\n"},
        {git_is_author_script, false, "PATH='x'\n"},
        {git_is_author_script, false, "GIT_AUTHOR_NAME='x\n"},
        {git_is_strategy, true, "ort\n"},
        {git_is_strategy, false, "evil\n"},
        {git_is_sequence_options, true, "[options]\n\tstrategy = ort\n\tsignoff = true\n"},
        {git_is_sequence_options, false, "[options]\n\tstrategy = evil\n"},
        {git_is_sequence_options, false, "[include]\n\tpath = x\n"},
        {git_is_sequence_options, false, "[options]\n[include]\n"},
        {git_is_quoted_words, true, "'a/b' 'c'\n"},
        {git_is_quoted_words, true, ""},
        {git_is_quoted_words, true, " --a=b --c"},
        {git_is_quoted_words, false, "'$(x)'\n"},
        {git_is_quoted_words, false, "'a'\n'b'\n"},
        {git_is_quoted_words, false, "'a\nb'"},
        {git_is_quoted_words, false, "\n'a'"},
        {git_is_quoted_words, false, "'a'\n\n"},
        {git_is_sign_option, true, "-Sabc\n"},
        {git_is_sign_option, false, "--x\n"},
        {git_is_head_name, true, "refs/heads/x\n"},
        {git_is_head_name, true, "detached HEAD\n"},
        {git_is_head_name, false, "x\n"},
        {git_is_branch, true, "main\n"},
        {git_is_branch, true, ID "\n"},
        {git_is_branch, false, "--upload-pack=x\n"},
        {git_is_refs_or_ids, true, "refs/heads/x\n" ID "\n"},
        {git_is_refs_or_ids, false, "refs/replace/x\n"},
        {git_is_terms, true, "bad\ngood\n"},
        {git_is_terms, false, "bad\n"},
        {git_is_terms, false, "-x\ny\n"},
        {git_is_blank, true, " \n"},
        {git_is_blank, false, "--x"},
        {git_is_text, true, "anything\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].check((struct str){rows[i].text, strlen(rows[i].text)}, GIT_SHA1_HEX) !=
            rows[i].ok)
            fail_msg("row %zu: `%s` is %s", i, rows[i].text, rows[i].ok ? "refused" : "taken");
    }
    assert_false(git_is_text((struct str){"a\0b", 3}, GIT_SHA1_HEX));
    assert_true(git_is_ref((struct str){LONG_ID "\n", 65}, GIT_SHA256_HEX));
}

/* What runs something when the user goes on with a rebase is refused in each file that git would read it from. */
static void test_files(void **state)
{
    static const struct {
        const char *path;
        bool ok;
        const char *text;
    } rows[] = {
        {"rebase-merge/git-rebase-todo", true, "pick 0123 x\n"},
        {"rebase-merge/git-rebase-todo", false, "exec rm\n"},
        {"rebase-merge/git-rebase-todo.backup", false, "exec rm\n"},
        {"rebase-merge/done", false, "exec rm\n"},
        {"modules/lib/rebase-merge/git-rebase-todo", false, "exec rm\n"},
        {"worktrees/w/rebase-merge/git-rebase-todo", false, "exec rm\n"},
        {"sequencer/todo", true, "pick 0123 x\n"},
        {"sequencer/todo", false, "exec rm\n"},
        {"sequencer/opts", false, "[options]\n\tstrategy = evil\n"},
        {"rebase-merge/author-script", true, "GIT_AUTHOR_NAME='x'\n"},
        {"rebase-merge/author-script", false, "GIT_AUTHOR_NAME=$(x)\n"},
        {"rebase-apply/author-script", false, "GIT_AUTHOR_NAME=$(x)\n"},
        {"rebase-merge/strategy", false, "evil\n"},
        {"rebase-merge/strategy_opts", false, "'$(x)'\n"},
        {"rebase-merge/gpg_sign_opt", false, "--x\n"},
        {"rebase-apply/gpg_sign_opt", false, "--x\n"},
        {"rebase-apply/apply-opt", false, "--x\n"},
        {"rebase-merge/head-name", false, "refs/../x\n"},
        {"rebase-merge/update-refs", false, "refs/replace/x\n"},
        {"BISECT_START", false, "--upload-pack=x\n"},
        {"BISECT_NAMES", false, "'$(x)'\n"},
        {"BISECT_TERMS", false, "-x\ny\n"},
        {"HEAD", false, "ref: refs/../x\n"},
        {"refs/heads/x", false, "junk\n"},
        {"logs/HEAD", false, "junk\n"},
        {"ORIG_HEAD", false, "--x\n"},
        {"FETCH_HEAD", false, "--x\n"},
        {"shallow", false, "--x\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct git_name name = name_of(rows[i].path);
        struct str text = {rows[i].text, strlen(rows[i].text)};
        if (!name.check || name.check(text, GIT_SHA1_HEX) != rows[i].ok)
            fail_msg("%s: `%s` is %s", rows[i].path, rows[i].text, rows[i].ok ? "refused" : "taken");
    }
}

static bool packed(const char *text, const char *old)
{
    return git_is_packed_refs((struct str){text, strlen(text)}, (struct str){old, strlen(old)},
                              GIT_SHA1_HEX);
}

static void test_packed_refs(void **state)
{
    static const char replaced[] = ID " refs/replace/" ID2 "\n";
    (void)state;
    assert_true(packed("", ""));
    assert_true(packed(
        "# pack-refs with: peeled fully-peeled sorted \n" ID " refs/heads/x\n^" ID2 "\n", ""));
    assert_false(packed("^" ID "\n", ""));
    assert_false(packed(ID " refs/heads/x\n^" ID2 "\n^" ID2 "\n", ""));
    assert_false(packed(ID " refs/heads/x", ""));
    assert_false(packed(ID " heads/x\n", ""));
    assert_false(packed("x\n", ""));
    assert_false(packed(replaced, ""));
    assert_true(packed(replaced, replaced));
    assert_false(packed(replaced, ID " refs/replace/" ID2 "x\n"));
}

static void test_config(void **state)
{
    static const char sha256[] = "[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n";
    static const char sha1[] = "[extensions]\n\tobjectformat = sha1\n";
    (void)state;
    assert_true(git_config_has_sha256((struct str){sha256, strlen(sha256)}));
    assert_false(git_config_has_sha256((struct str){sha1, strlen(sha1)}));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_removal),
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_files),
        cmocka_unit_test(test_packed_refs), cmocka_unit_test(test_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
