/* Where the parts of a git directory lead that are not there yet, and what is said when that cannot be found out. */
#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath_root.h"
#include "work/git_leads.h"

static void make_repository(void)
{
    assert_int_equal(mkdir("w/.git", 0755) | mkdir("w/src", 0755), 0);
    put("w/.git/config", "[core]\n\tbare = false\n");
}

static bool is_led_to(const char *path)
{
    int error = 0;
    bool led = beneath_is_led_to(&root, path, false, &error);
    assert_int_equal(error, 0);
    return led;
}

static void a_way_through_what_is_missing_is_told_once(void **state)
{
    (void)state;
    static const char *const ways[][2] = {
        {"a", "a"}, {"a/b", "a/b"}, {"a/b/c", "a/b/c"}, {"src/x/../y/z", "src/y/z"}};
    char where[PATH_TEXT_MAX];
    make_repository();
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        assert_true(git_leads_where(&root, ways[i][0], where));
        assert_string_equal(where, ways[i][1]);
    }
}

/* Only `..` before any name is certain: behind a link it leads on from elsewhere. */
static void a_text_that_leaves_the_root_comes_back_by_its_name(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"../w/hk", "hk"}, {"./..//w/src", "src"}, {"l/../../w/hk", "w/hk"}, {"src/../hk", "hk"}};
    char path[PATH_TEXT_MAX];
    char where[PATH_TEXT_MAX];
    make_repository();
    assert_int_equal(mkdir("w/a", 0755) | mkdir("w/a/b", 0755), 0);
    put_link("w/l", "a/b");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_true(git_leads_locate(&root, (struct str){0}, texts[i][0], path));
        assert_true(git_leads_where(&root, path, where));
        assert_string_equal(where, texts[i][1]);
    }
    assert_true(git_leads_locate(&root, (struct str){0}, "../out/secret", path));
    assert_false(git_leads_where(&root, path, where));
}

static void hooks_that_are_missing_are_led_to(void **state)
{
    (void)state;
    make_repository();
    put_link("w/.git/hooks", "../s/t");
    assert_true(is_led_to("s/t"));
    assert_true(is_led_to("s/t/pre-commit"));
    assert_false(is_led_to("s/u"));
    assert_int_equal(mkdir("w/s", 0755), 0);
    assert_true(is_led_to("s/t/pre-commit"));
}

static void a_link_on_the_way_is_led_to(void **state)
{
    (void)state;
    make_repository();
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/hk", 0755), 0);
    put_link("w/k", "d");
    put_link("w/l", "k");
    put("w/.git/config", "[core]\n\thooksPath = l/hk\n");
    assert_true(is_led_to("l") && is_led_to("k") && is_led_to("d/hk"));
    assert_false(is_led_to("d") || is_led_to("src/x"));
}

/* The work tree itself is not covered for it. */
static void hooks_beside_sources_are_led_to_by_name(void **state)
{
    (void)state;
    static const char *const paths[] = {".", "./", "src/..", ".git/..", "../w"};
    make_repository();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        FREE_AT_END char *text = mem_format("[core]\n\thooksPath = %s\n", paths[i]);
        put("w/.git/config", text);
        if (!is_led_to("pre-commit") || !is_led_to("post-index-change") || is_led_to("src/x") ||
            is_led_to("other"))
            fail_msg("%s", paths[i]);
    }
    put("w/.git/config", "[init]\n\ttemplateDir = .\n");
    assert_true(is_led_to("hooks/pre-commit"));
    assert_false(is_led_to("src/x"));
}

/* With too few descriptors nothing counts as free, and that is not remembered. */
static void a_shortage_is_no_answer(void **state)
{
    (void)state;
    struct rlimit was;
    int refused = 0;
    make_repository();
    put("w/.git/config", "[core]\n\tfsmonitor = src/watch\n");
    put("w/src/watch", "#!/bin/sh\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    FD_AT_END int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (rlim_t room = 0; room < 8; room++) {
        int error = 0;
        struct rlimit few = {(rlim_t)lowest + 1 + room, was.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        bool led = beneath_is_led_to(&root, "src/watch", false, &error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_true(led);
        refused += error == EMFILE;
        assert_true(is_led_to("src/watch"));
    }
    assert_in_range(refused, 2, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_way_through_what_is_missing_is_told_once),
        TEST(a_text_that_leaves_the_root_comes_back_by_its_name),
        TEST(hooks_that_are_missing_are_led_to),
        TEST(a_link_on_the_way_is_led_to),
        TEST(hooks_beside_sources_are_led_to_by_name),
        TEST(a_shortage_is_no_answer),
    };
    return cmocka_run_group_tests_name("git_leads", tests, NULL, NULL);
}
