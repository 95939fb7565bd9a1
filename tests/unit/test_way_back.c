/* Paths that leave a folder and come back to it, by every kind of name there is for it. */
#include <cmocka.h>
#include <string.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cell/spec.h"
#include "folder.h"
#include "session/way_back.h"

static struct cell_root roots[2];

static void make_root(struct cell_root *root, const char *path)
{
    root->host = mem_format("%s/%s", folder, path);
    FD_AT_END int fd = open(root->host, O_PATH | O_CLOEXEC);
    assert_int_equal(spec_identify(fd, root), 0);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"home",        "home/ws",    "home/ws/a",
                                          "home/ws/a/b", "home/other", "home/else"};
    static const char *const links[][2] = {{"home", "alias"},
                                           {"home/ws", "direct"},
                                           {"ws/a", "home/deep"},
                                           {"again", "home/again"},
                                           {"../../deep/b", "home/ws/a/l"}};
    if (folder_set_up(state) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_int_equal(mkdir(folders[i], 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        assert_int_equal(symlink(links[i][0], links[i][1]), 0);
    make_root(&roots[0], "home/ws");
    make_root(&roots[1], "home/other");
    return 0;
}

static int tear_down(void **state)
{
    free(roots[0].host);
    free(roots[1].host);
    return folder_tear_down(state);
}

struct way_case {
    const char *path; /* %s: the folder of the test */
    int root;         /* -1: it does not come back */
    const char *rest;
};

static const struct way_case cases[] = {
    {"../ws/t/hooks", 0, "t/hooks"},
    {"a/../../ws/t", 0, "t"},
    {"a/b/../../../ws", 0, "."},
    {"%s/home/ws/t", 0, "t"},
    {"%s/alias/ws/t", 0, "t"},
    {"%s//home/./ws///t", 0, "t"},
    {"%s/home/else/../ws/t", 0, "t"},
    {"%s/direct/t/../u", 0, "t/../u"},
    {"../deep/b/x", 0, "a/b/x"},
    {"a/l/x", 0, "a/b/x"},
    {"a/l", 0, "a/b"},
    {"../other/t", 1, "t"},
    {"%s/home/other", 1, "."},
    /* What is not there yet, inside. */
    {"../ws/not/there", 0, "not/there"},
    /* What stays inside has not left. */
    {"a/b", -1, ""},
    {"a/../a/b", -1, ""},
    {".", -1, ""},
    /* What stays outside. */
    {"../else/x", -1, ""},
    {"../not/there/ws", -1, ""},
    {"../again/ws", -1, ""},
    {"/nowhere-at-all/x", -1, ""},
    {"/", -1, ""},
};

static void comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct way_case *c = &cases[i];
        char rest[PATH_TEXT_MAX] = "";
        size_t root = 99;
        const char *mark = strstr(c->path, "%s");
        FREE_AT_END char *path = mark ? mem_format("%s%s", folder, c->path + 2) : mem_dup(c->path);
        unsigned names = 1000;
        bool back = way_back(roots, 2, 0, path, &names, &root, rest);
        if (back != (c->root >= 0) ||
            (back && ((int)root != c->root || strcmp(rest, c->rest) != 0)))
            fail_msg("%s: %d, root %zu, `%s`", path, back, root, rest);
    }
}

static void is_bounded(void **state)
{
    (void)state;
    char rest[PATH_TEXT_MAX];
    size_t root;
    char longest[2 * PATH_TEXT_MAX];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    unsigned names = 1000;
    assert_false(way_back(roots, 2, 0, longest, &names, &root, rest));
    memcpy(longest, "../", 3);
    assert_false(way_back(roots, 2, 0, longest, &names, &root, rest));
    assert_true(names > 0);
}

/* Links make a long way of a short path. */
static void names_are_counted(void **state)
{
    (void)state;
    char rest[PATH_TEXT_MAX];
    char target[2048] = "";
    size_t root;
    for (size_t i = 0; i < 1000; i++)
        memcpy(target + 2 * i, "./", 3);
    memcpy(target + 2000, "../ws/t", 8);
    assert_int_equal(symlink(target, "home/ws/long"), 0);
    unsigned names = 1005;
    assert_true(way_back(roots, 2, 0, "long", &names, &root, rest));
    assert_string_equal(rest, "t");
    assert_true(names > 0 && names < 5);
    names = 900;
    assert_false(way_back(roots, 2, 0, "long", &names, &root, rest));
    assert_int_equal(names, 0);
    assert_false(way_back(roots, 2, 0, "../ws/t", &names, &root, rest));
    assert_int_equal(names, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_counted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
