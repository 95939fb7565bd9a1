/* Which repositories made by a command stay where they are. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "folder.h"
#include "work/git_plain.h"

static const char usual[] =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
    "\tlogallrefupdates = true\n[remote \"origin\"]\n"
    "\turl = https://example.org/a.git\n"
    "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
    "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

static void settings_that_are_data_are_plain(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "",
        "\n\n",
        "# a comment\n; another\n",
        usual,
        "[core]\nbare",
        "[CORE]\nBare = true\r\n",
        "[user]\n name = A B\n email = a@b\n",
        "[submodule \"lib\"]\n\turl = ../lib\n\tactive = true\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (!git_config_is_plain((struct str){plain[i], strlen(plain[i])}))
            fail_msg("refused: %s", plain[i]);
    }
}

static void all_others_are_not(void **state)
{
    (void)state;
    static const char *const other[] = {
        "[core]\n\tfsmonitor = ./x\n",
        "[core]\n\thooksPath = x\n",
        "[core]\nworktree = ..\n",
        "[core] fsmonitor = ./x\n",
        "[core]fsmonitor = ./x\n[core]\nbare = false\n",
        "[core.x]\nbare = true\n",
        "[include]\n\tpath = ../x\n",
        "[includeIf \"gitdir:/\"]\n\tpath = ../x\n",
        "[core \"x\"]\n\tbare = true\n",
        "[alias]\n\tst = !x\n",
        "[remote \"o\"]\n\turl = ext::sh -c x\n",
        "[branch \"m\"]\n\tremote = ext::sh -c x\n",
        "[remote \"o\"]\n\turl = -oProxyCommand=x\n",
        "[remote \"o\"]\n\turl =\n",
        "[remote \"o\"]\n\tuploadpack = x\n",
        "[remote \"o\\\"]\n\turl = x\n",
        "[user]\n\tname = a\\\n[core]\n",
        "[user]\n\tname = \"a\n\tb\"\n",
        "[core]\nbare = true \\\n fsmonitor = x\n",
        "bare = true\n",
        "[]\nbare = true\n",
        "[",
        "[]",
        "]",
        "[core",
        "=\n",
        "[core]\n= x\n",
        "[core]\nbare : x\n",
        "[core]\nbare x\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        if (git_config_is_plain((struct str){other[i], strlen(other[i])}))
            fail_msg("taken: %s", other[i]);
    }
    assert_false(git_config_is_plain((struct str){"[core]\nbare = \0", 15}));
}

static void put(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void make(const char *path)
{
    if (mkdir(path, 0755) < 0)
        fail_msg("%s", path);
}

#define REST "cd0123456789abcdef0123456789abcdef0123"
#define ID "ab" REST
#define OTHER "000123456789abcdef0123456789abcdef0123"

static void make_repository(void)
{
    static const char *const folders[] = {"g",
                                          "g/hooks",
                                          "g/info",
                                          "g/branches",
                                          "g/objects",
                                          "g/objects/info",
                                          "g/objects/pack",
                                          "g/refs",
                                          "g/refs/heads",
                                          "g/logs",
                                          "g/logs/refs",
                                          "g/objects/ab"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        make(folders[i]);
    put("g/HEAD", "ref: refs/heads/main\n");
    put("g/config", usual);
    put("g/description", "");
    put("g/hooks/pre-commit.sample", "#!/bin/sh\n");
    put("g/info/exclude", "");
    put("g/refs/heads/main", ID "\n");
    put("g/logs/HEAD", ID " " ID " A <a@b> 1700000000 +0000\tcommit: x\n");
    put("g/packed-refs", ID " refs/tags/v1\n");
    put("g/objects/ab/" REST, "x");
    put("g/objects/pack/pack-" ID ".pack", "x");
    put("g/objects/pack/pack-" ID ".idx", "x");
}

static bool is_plain(void)
{
    FD_AT_END int dir = open("g", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return git_directory_is_plain(dir);
}

static void a_repository_as_git_makes_it_is_plain(void **state)
{
    (void)state;
    make_repository();
    assert_true(is_plain());
}

static void what_git_would_run_or_follow_is_not(void **state)
{
    (void)state;
    static const char *const files[] = {
        "g/hooks/pre-commit",
        "g/hooks/.sample",
        "g/info/attributes",
        "g/commondir",
        "g/config.worktree",
        "g/branches/x",
        "g/objects/x",
        "g/objects/info/alternates",
        "g/MERGE_HEAD",
        "g/info/grafts",
        "g/gitdir",
        "g/refs/heads/x",
        "g/logs/x",
        "g/logs/refs/heads",
        "g/objects/ab/x",
        "g/objects/pack/x",
        "g/objects/pack/pack-1.pack",
        "g/ORIG_HEAD",
        "g/refs/replace",
        "g/refs/heads/main.lock",
    };
    static const char *const links[] = {"g/COMMIT_EDITMSG", "g/logs/x", "g/refs/x",
                                        "g/objects/aa",     "g/index",  "g/FETCH_HEAD"};
    static const char *const folders[] = {"g/remotes",         "g/modules",
                                          "g/worktrees",       "g/rebase-merge",
                                          "g/hooks/x.sample",  "g/objects/zz",
                                          "g/objects/abc",     "g/objects/AB",
                                          "g/objects/ab/x",    "g/objects/ab/" OTHER,
                                          "g/objects/pack/x",  "g/objects/pack/pack-" OTHER ".pack",
                                          "g/objects/info/x",  "g/info/x",
                                          "g/branches/x",      "g/logs/x",
                                          "g/refs/heads/.git", "g/refs/-x",
                                          "g/logs/refs/.git"};
    make_repository();
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        put(files[i], "x");
        if (is_plain())
            fail_msg("%s", files[i]);
        unlink(files[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        assert_int_equal(symlink("/dev/null", links[i]), 0);
        if (is_plain())
            fail_msg("%s", links[i]);
        unlink(links[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        make(folders[i]);
        if (is_plain())
            fail_msg("%s", folders[i]);
        rmdir(folders[i]);
    }
    put("g/index", "DIRC");
    assert_false(is_plain());
    unlink("g/index");
    assert_true(is_plain());
    put("g/HEAD", "junk\n");
    assert_false(is_plain());
    put("g/HEAD", "ref: refs/heads/main\n");
    put("g/config", "[core]\nfsmonitor = x\n");
    assert_false(is_plain());
    unlink("g/config");
    assert_false(is_plain());
}

/* Each file of it can be a ref or the log of one, by its name and by what it holds. */
static void no_repository_lies_in_it(void **state)
{
    (void)state;
    static const char *const places[] = {"g/refs", "g/refs/heads", "g/refs/heads/a", "g/logs/refs",
                                         "g/logs/refs/heads"};
    static const char *const heads[] = {"HEAD", "Head"};
    static const char *const rests[] = {"objects", "OBJECTS", "commondir"};
    char head[64];
    char rest[64];
    make_repository();
    make("g/refs/heads/a");
    make("g/logs/refs/heads");
    assert_true(is_plain());
    for (size_t i = 0; i < ARRAY_LEN(places) * 6; i++) {
        const char *place = places[i / 6];
        bool is_log = strncmp(place, "g/logs", 6) == 0;
        snprintf(head, sizeof head, "%s/%s", place, heads[i % 2]);
        snprintf(rest, sizeof rest, "%s/%s", place, rests[i / 2 % 3]);
        put(head, is_log ? "" : "ref: refs/heads/main\n");
        assert_true(is_plain());
        make(rest);
        if (is_plain())
            fail_msg("%s and %s", head, rest);
        rmdir(rest);
        put(rest, is_log ? "" : ID "\n");
        if (is_plain())
            fail_msg("%s and %s", head, rest);
        unlink(head);
        assert_true(is_plain());
        unlink(rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_are_data_are_plain),
        cmocka_unit_test(all_others_are_not),
        cmocka_unit_test_setup_teardown(a_repository_as_git_makes_it_is_plain, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(what_git_would_run_or_follow_is_not, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(no_repository_lies_in_it, folder_set_up, folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
