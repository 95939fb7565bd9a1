/* Paths in several folders, each at its own place. */
#include <cmocka.h>

#include "core/path.h"
#include "json_text.h"
#include "random.h"

static const struct root folders[] = {
    {"/home/u/work", "/home/u/work", "/home/u/work", true},
    {"/home/u/work/vendor", "/home/u/work/vendor", "/home/u/work/vendor", true},
    {"/srv/data", "/srv/data", "/mnt/disk/data", true},
    {"/a/b/", "/a/b/", "/a/b", true},
};

static int read_path(struct str text, struct path *ret, struct err *err)
{
    return path_in_folders(text, "/home/u/work/sub", folders, ARRAY_LEN(folders), ret, err);
}

static void what_lies_in_a_folder(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t root;
        const char *result;
    } cases[] = {
        {"/home/u/work/a", 0, "a"},
        {"/home/u/work", 0, "."},
        {"/home/u/work/", 0, "."},
        {"//home//u/./work//a/", 0, "a"},
        {"a/b", 0, "sub/a/b"},
        {"", 0, "sub"},
        {".", 0, "sub"},
        {"..", 0, "."},
        {"../a", 0, "a"},
        {"x/../../a", 0, "a"},
        /* `..` is taken as text: the path is put together before it is looked for. */
        {"/home/u/work/x/../a", 0, "a"},
        {"/etc/../home/u/work/a", 0, "a"},
        {"../../../../../../../../home/u/work/a", 0, "a"},
        /* The folder that lies deepest. */
        {"/home/u/work/vendor/x", 1, "x"},
        {"../vendor", 1, "."},
        {"/home/u/work/vendors/x", 0, "vendors/x"},
        {"/srv/data/x", 2, "x"},
        {"/mnt/disk/data/x", 2, "x"},
        {"../../../../srv/data", 2, "."},
        {"/a/b", 3, "."},
        {"/a/b/c", 3, "c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct path path;
        struct err err;
        if (read_path(text_str(cases[i].text), &path, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        if (path.root != cases[i].root || strcmp(path.text, cases[i].result) != 0)
            fail_msg("%s is %s in root %zu", cases[i].text, path.text, path.root);
    }
}

static void what_lies_in_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"/", "absolute_path"},
        {"/etc/passwd", "absolute_path"},
        {"/home/u", "absolute_path"},
        {"/home/u/workshop", "absolute_path"},
        {"/home/u/work/../other", "absolute_path"},
        {"/home/u/work/../../../etc", "absolute_path"},
        {"/a/bc", "absolute_path"},
        {"/a/bc/d", "absolute_path"},
        {"/a", "absolute_path"},
        {"/srv/database", "absolute_path"},
        {"../..", "parent_traversal"},
        {"../../other/a", "parent_traversal"},
        {"../../../../../../../etc/passwd", "parent_traversal"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct path path;
        struct err err = {0};
        if (read_path(text_str(cases[i].text), &path, &err) == 0)
            fail_msg("%s is taken as %s in root %zu", cases[i].text, path.text, path.root);
        assert_int_equal(err.code, ERR_PATH_OUTSIDE_WORKSPACE);
        assert_string_equal(err.reason, cases[i].reason);
    }
}

static void a_nul_byte_is_refused(void **state)
{
    (void)state;
    struct path path;
    struct err err = {0};
    assert_int_equal(read_path((struct str){"/a/b/\0", 6}, &path, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    assert_string_equal(err.reason, "nul_byte");
}

static void lengths_have_limits(void **state)
{
    (void)state;
    char text[PATH_TEXT_MAX];
    struct path path;
    struct err err = {0};
    memset(text, 'x', sizeof text);
    memcpy(text, "/a/b/", 5);
    assert_int_equal(read_path((struct str){text, 5 + PATH_NAME_MAX}, &path, &err), 0);
    assert_int_equal(read_path((struct str){text, 6 + PATH_NAME_MAX}, &path, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    for (size_t i = 5; i < sizeof text; i++)
        text[i] = i % 2 ? 'x' : '/';
    assert_int_equal(read_path((struct str){text, sizeof text - 1}, &path, &err), 0);
    assert_int_equal(read_path((struct str){text, sizeof text}, &path, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    /* A long way that a short path is left of. */
    for (size_t i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, i % 2 ? "/.." : "/xx", 3);
    assert_int_equal(read_path((struct str){text, sizeof text - 4}, &path, &err), -1);
}

/* A relative path of `n` bytes, of names of one byte. */
static struct str long_text(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 ? '/' : 'x';
    return (struct str){text, n};
}

/* Behind a base that lies deep in its folder, a path that is short enough by itself is not. */
static void the_base_counts_for_the_length(void **state)
{
    (void)state;
    static const struct root above[] = {{"/home", "/home", "/home", true}};
    static const struct root all[] = {{"/", "/", "/", true}};
    static const size_t depths[] = {1, 2, 200, 2000, 4000, PATH_TEXT_MAX - 8};
    for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
        char base[PATH_TEXT_MAX] = "/home/";
        char text[PATH_TEXT_MAX];
        long_text(base + 6, depths[d] | 1);
        base[6 + (depths[d] | 1)] = '\0';
        for (size_t n = 1; n < sizeof text; n += n < 4000 ? 500 : 2) {
            struct {
                struct path path;
                char behind[64];
            } room;
            struct err err = {0};
            memset(&room, 'y', sizeof room);
            const struct root *root = n % 4 == 1 ? above : all;
            size_t joined = strlen(base) + 1 + n - (root == above ? 6 : 1);
            int r = path_in_folders(long_text(text, n), base, root, 1, &room.path, &err);
            for (size_t i = 0; i < sizeof room.behind; i++)
                assert_int_equal(room.behind[i], 'y');
            assert_int_equal(r, joined < PATH_TEXT_MAX ? 0 : -1);
            if (r == 0)
                assert_int_equal(strlen(room.path.text), joined);
            else
                assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        }
    }
}

static void no_text_leads_out(void **state)
{
    (void)state;
    static const char *const pieces[] = {"..",          ".", "/",  "a",   "b",    "/a/b",
                                         "home/u/work", "c", "//", "/..", "\xff", "../"};
    unsigned taken = 0;
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
        if (read_path((struct str){text, n}, &path, &err) < 0) {
            assert_true(err.message[0] != '\0');
            continue;
        }
        taken++;
        assert_true(path.root < ARRAY_LEN(folders) && path.text[0] != '/');
        char rest[PATH_TEXT_MAX];
        memcpy(rest, path.text, sizeof rest);
        for (char *save = NULL, *name = strtok_r(rest, "/", &save); name;
             name = strtok_r(NULL, "/", &save))
            assert_string_not_equal(name, "..");
    }
    assert_true(taken > 1000);
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
        cmocka_unit_test(what_lies_in_a_folder),          cmocka_unit_test(what_lies_in_none),
        cmocka_unit_test(a_nul_byte_is_refused),          cmocka_unit_test(lengths_have_limits),
        cmocka_unit_test(the_base_counts_for_the_length), cmocka_unit_test(no_text_leads_out),
    };
    return cmocka_run_group_tests_name("path_folders", tests, set_up, NULL);
}
