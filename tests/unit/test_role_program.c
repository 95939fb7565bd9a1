#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "folder.h"
#include "gate/reach.h"

static struct reach reach;
static struct err err;

static int set_up(void **state)
{
    if (folder_set_up(state) < 0 || mkdir("bin", 0755) < 0 || mkdir("libexec", 0755) < 0 ||
        mkdir("libexec/sandgate", 0755) < 0)
        return -1;
    reach = (struct reach){0};
    int fd = open("libexec/sandgate/parse", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    return fd < 0 || fchmod(fd, 0755) < 0 || close(fd) < 0 ? -1 : 0;
}

/* A name in libexec/sandgate beside bin/sandgate: the inode that is opened, 0 where it is refused. */
static ino_t opened(const char *name)
{
    char own[PATH_MAX + 32];
    char path[PATH_MAX];
    struct stat st;
    snprintf(own, sizeof own, "%s/bin/sandgate", folder);
    if (reach_role_program(&reach, own, name, path, &err) < 0)
        return 0;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static void assert_refused(const char *name, const char *words)
{
    assert_int_equal(opened(name), 0);
    if (!strstr(err.message, words))
        fail_msg("no `%s` in: %s", words, err.message);
}

static void it_is_found_beside_the_gate(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(stat("libexec/sandgate/parse", &st), 0);
    assert_int_equal(opened("parse"), st.st_ino);
    assert_refused("net", "No such file");
    assert_int_equal(symlink("parse", "libexec/sandgate/net"), 0);
    assert_int_equal(opened("net"), st.st_ino);
}

/* A build's own comes first: it is of the same version. */
static void it_is_found_where_it_was_built(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkdir("bin/src", 0755), 0);
    assert_int_equal(mkdir("bin/src/roles", 0755), 0);
    assert_int_equal(rename("libexec/sandgate/parse", "bin/src/roles/parse"), 0);
    assert_int_equal(stat("bin/src/roles/parse", &st), 0);
    assert_int_equal(opened("parse"), st.st_ino);
}

static void what_cannot_be_run_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("libexec/sandgate/net", 0755), 0);
    assert_refused("net", "no program");
    assert_int_equal(chmod("libexec/sandgate/parse", 0644), 0);
    assert_refused("parse", "chmod +x");
}

static void what_others_can_change_is_refused(void **state)
{
    static const char *const ways[] = {"libexec/sandgate/parse", "libexec/sandgate", "libexec"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        assert_int_equal(chmod(ways[i], 0775), 0);
        assert_refused("parse", "chmod go-w");
        assert_int_equal(chmod(ways[i], 0755), 0);
    }
    if (geteuid() != 0)
        return;
    assert_int_equal(chown("libexec/sandgate/parse", 65533, 65533), 0);
    assert_refused("parse", "belongs to another user");
}

static void what_an_agent_can_change_is_refused(void **state)
{
    (void)state;
    char elsewhere[PATH_MAX + 32];
    struct places places = {.count = 1};
    places.roots[0] = (struct root){"workspace", "/workspace", folder, true};
    reach_init(&reach, &places);
    assert_refused("parse", "where an agent could change it");
    /* Also behind a link. */
    snprintf(elsewhere, sizeof elsewhere, "%s/libexec", folder);
    places.roots[0].host = elsewhere;
    assert_int_equal(rename("libexec/sandgate/parse", "bin/parse"), 0);
    assert_int_equal(symlink("../../bin/parse", "libexec/sandgate/parse"), 0);
    reach_init(&reach, &places);
    assert_refused("parse", "where an agent could change it");
    places.roots[0].writable = false;
    reach_init(&reach, &places);
    assert_int_not_equal(opened("parse"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_found_beside_the_gate),         TEST(it_is_found_where_it_was_built),
        TEST(what_cannot_be_run_is_refused),       TEST(what_others_can_change_is_refused),
        TEST(what_an_agent_can_change_is_refused),
    };
    return cmocka_run_group_tests_name("role_program", tests, NULL, NULL);
}
