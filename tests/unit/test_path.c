#include <cmocka.h>

#include "core/path.h"
#include "json_text.h"
#include "random.h"

static const struct root workspace = {
    "workspace", "/workspace", "/srv/work", true, {"/home/u/link", NULL}};
static const struct root mounts[] = {
    {"@project", "/project", "/srv/project", true},
    {"@pkg", "/pkg", "/srv/pkg", false},
    {"@state", "/state", "/srv/state", true},
};

static int read_path(bool in_mounts, struct str text, struct path *ret, struct err *err)
{
    return in_mounts ? path_in_mounts(text, mounts, ARRAY_LEN(mounts), ret, err)
                     : path_in_workspace(text, &workspace, ret, err);
}

struct good {
    const char *text;
    const char *result;
    size_t root;
};

static void check_good(bool in_mounts, const struct good *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct path path;
        struct err err;
        if (read_path(in_mounts, text_str(cases[i].text), &path, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        if (strcmp(path.text, cases[i].result) != 0 || path.root != cases[i].root)
            fail_msg("%s is %s in root %zu", cases[i].text, path.text, path.root);
        assert_int_equal(path_is_root(&path), strcmp(cases[i].result, ".") == 0);
    }
}

static void paths_of_a_workspace(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"a", "a", 0},
        {"a/b/c.txt", "a/b/c.txt", 0},
        {"", ".", 0},
        {".", ".", 0},
        {"./", ".", 0},
        {"././.", ".", 0},
        {"./a", "a", 0},
        {"a/", "a", 0},
        {"a//b///c", "a/b/c", 0},
        {"a/./b/.", "a/b", 0},
        {".a", ".a", 0},
        {"...", "...", 0},
        {"..a/b..", "..a/b..", 0},
        /* A link may lead elsewhere: what `..` means is known only when it is opened. */
        {"a/../b", "a/../b", 0},
        {"a/..", "a/..", 0},
        {"a/b/../../c", "a/b/../../c", 0},
        {"a b", "a b", 0},
        {" ", " ", 0},
        {"~", "~", 0},
        {"a\\..\\b", "a\\..\\b", 0},
        {"@project/a", "@project/a", 0},
        {"\xff\n", "\xff\n", 0},
        {"/workspace", ".", 0},
        {"/workspace/", ".", 0},
        {"/workspace/a/b", "a/b", 0},
        {"/workspace//a", "a", 0},
        {"/workspace/./a", "a", 0},
        {"/workspace/a/../b", "a/../b", 0},
        {"/srv/work", ".", 0},
        {"/srv/work/a", "a", 0},
        {"/home/u/link", ".", 0},
        {"/home/u/link/a", "a", 0},
    };
    check_good(false, cases, ARRAY_LEN(cases));
}

static void paths_of_mounts(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"@project", ".", 0},
        {"@project/", ".", 0},
        {"@project/.", ".", 0},
        {"@pkg/a", "a", 1},
        {"@state/logs/x", "logs/x", 2},
        {"@project//a/./b/", "a/b", 0},
        {"@project/..a/b..", "..a/b..", 0},
        {"@project\\a\\b", "a/b", 0},
        {"\\@state\\a", "a", 2},
        {"/@project/a", "a", 0},
        {"./@project/a", "a", 0},
        {"././@pkg", ".", 1},
        {"@project/@pkg", "@pkg", 0},
        {"@project/\xff", "\xff", 0},
    };
    check_good(true, cases, ARRAY_LEN(cases));
}

struct bad {
    const char *text;
    enum err_code code;
    const char *reason;
};

static void check_bad(bool in_mounts, const struct bad *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct path path;
        struct err err = {0};
        if (read_path(in_mounts, text_str(cases[i].text), &path, &err) == 0)
            fail_msg("%s is taken as %s", cases[i].text, path.text);
        if (err.code != cases[i].code || strcmp(err.reason, cases[i].reason) != 0)
            fail_msg("%s: %s, %s", cases[i].text, err_row(err.code)->name, err.reason);
        assert_true(err.message[0] != '\0');
    }
}

static void what_a_workspace_refuses(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"..", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"../a", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"./../a", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"a/../..", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"a/../../b/c/d", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"a//..//..//b", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"/workspace/..", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"/workspace/../etc", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"/srv/work/../other", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"/", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/etc/passwd", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"//workspace/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/workspacex", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/Workspace/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/srv/work2/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/srv", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
    };
    check_bad(false, cases, ARRAY_LEN(cases));
}

static void what_mounts_refuse(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"@project/..", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"@project/a/../b", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"@project\\a\\..\\b", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"@state/..\\@pkg", ERR_PATH_OUTSIDE_WORKSPACE, "parent_traversal"},
        {"", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"@", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"@projec/a", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"@projectx/a", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"@Project/a", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"@other/a", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"project/a", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"a/@project", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"../@project", ERR_PATH_OUTSIDE_WORKSPACE, "unknown_mount"},
        {"/project/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"/srv/project/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
        {"//@project/a", ERR_PATH_OUTSIDE_WORKSPACE, "absolute_path"},
    };
    check_bad(true, cases, ARRAY_LEN(cases));
}

static void a_nul_byte_is_refused(void **state)
{
    (void)state;
    static const struct str texts[] = {
        {"a\0b", 3}, {"\0", 1}, {"a\0", 2}, {"@project/a\0", 11}, {"/workspace\0/a", 13}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        for (int in_mounts = 0; in_mounts < 2; in_mounts++) {
            struct path path;
            struct err err = {0};
            assert_int_equal(read_path(in_mounts, texts[i], &path, &err), -1);
            assert_string_equal(err.reason, "nul_byte");
        }
    }
}

/* `prefix` with `n` bytes of `piece` behind it. */
static int read_long(bool in_mounts, const char *prefix, const char *piece, size_t n)
{
    char text[10000];
    struct path path;
    struct err err;
    size_t at = strlen(prefix);
    memcpy(text, prefix, at);
    for (size_t i = 0; i < n; i++)
        text[at + i] = piece[i % strlen(piece)];
    int r = read_path(in_mounts, (struct str){text, at + n}, &path, &err);
    if (r < 0)
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    return r;
}

static void lengths_have_limits(void **state)
{
    (void)state;
    assert_int_equal(read_long(false, "", "x", 255), 0);
    assert_int_equal(read_long(false, "", "x", 256), -1);
    assert_int_equal(read_long(false, "a/", "x", 256), -1);
    assert_int_equal(read_long(false, "", "a/", 4095), 0);
    assert_int_equal(read_long(false, "", "a/", 4096), -1);
    assert_int_equal(read_long(false, "", "/", 9000), -1);
    assert_int_equal(read_long(false, "a", "/", 4094), 0);
    assert_int_equal(read_long(true, "@project/", "y", 255), 0);
    assert_int_equal(read_long(true, "@project/", "y", 256), -1);
    assert_int_equal(read_long(true, "@project/", "a\\", 4086), 0);
    assert_int_equal(read_long(true, "@project/", "a\\", 4087), -1);
}

static void a_folder_given_with_a_slash_is_the_same_folder(void **state)
{
    (void)state;
    static const struct root slashed = {"workspace", "/workspace", "/srv/work/", true};
    static const struct root machine = {"workspace", "/workspace", "/", true};
    struct path path;
    struct err err = {0};
    assert_int_equal(path_in_workspace(STR("/srv/work/a"), &slashed, &path, &err), 0);
    assert_string_equal(path.text, "a");
    assert_int_equal(path_in_workspace(STR("/srv/work"), &slashed, &path, &err), 0);
    assert_string_equal(path.text, ".");
    assert_int_equal(path_in_workspace(STR("/etc/x"), &machine, &path, &err), 0);
    assert_string_equal(path.text, "etc/x");
}

static void beneath_means_a_whole_name(void **state)
{
    (void)state;
    assert_true(path_beneath(STR("logs"), "logs"));
    assert_true(path_beneath(STR("logs/a"), "logs"));
    assert_true(path_beneath(STR("/a"), "/"));
    assert_true(path_beneath(STR("/a/b"), "/a/"));
    assert_false(path_beneath(STR("logs2"), "logs"));
    assert_false(path_beneath(STR("log"), "logs"));
    assert_false(path_beneath(STR("a/logs"), "logs"));
    assert_false(path_beneath(STR(""), "logs"));
}

/* Follows a result by its text alone and never leaves the root. */
static void check_result(const struct path *path, bool in_mounts)
{
    size_t n = strnlen(path->text, sizeof path->text);
    int depth = 0;
    assert_in_range(n, 1, 4095);
    assert_true(path->text[0] != '/');
    assert_true(path->root < (in_mounts ? ARRAY_LEN(mounts) : 1));
    FREE_AT_END char *copy = mem_dup(path->text);
    char *rest = copy;
    for (char *name; (name = strsep(&rest, "/"));) {
        assert_true(strlen(name) > 0 && strlen(name) <= 255);
        bool up = strcmp(name, "..") == 0;
        assert_false(up && in_mounts);
        depth += up ? -1 : strcmp(name, ".") != 0;
        assert_true(depth >= 0);
    }
}

static void no_text_leads_out(void **state)
{
    (void)state;
    static const char *const pieces[] = {"..",   ".",  "/",          "a",         "b",  "@project",
                                         "@pkg", "\\", "/workspace", "/srv/work", "//", "..a",
                                         "\xff", " ",  "../",        "/.."};
    unsigned taken[2] = {0};
    for (unsigned round = 0; round < random_rounds(300000); round++) {
        char text[200];
        size_t n = 0;
        for (size_t k = random_below(9); k > 0; k--) {
            const char *piece = pieces[random_below(ARRAY_LEN(pieces))];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        struct path path;
        struct err err = {0};
        bool in_mounts = round & 1;
        if (read_path(in_mounts, (struct str){text, n}, &path, &err) < 0) {
            assert_true(err.message[0] != '\0');
            continue;
        }
        check_result(&path, in_mounts);
        taken[in_mounts]++;
    }
    assert_true(taken[0] > 1000 && taken[1] > 1000);
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_a_workspace),
        cmocka_unit_test(paths_of_mounts),
        cmocka_unit_test(what_a_workspace_refuses),
        cmocka_unit_test(what_mounts_refuse),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(lengths_have_limits),
        cmocka_unit_test(a_folder_given_with_a_slash_is_the_same_folder),
        cmocka_unit_test(beneath_means_a_whole_name),
        cmocka_unit_test(no_text_leads_out),
    };
    return cmocka_run_group_tests_name("path", tests, set_up, NULL);
}
