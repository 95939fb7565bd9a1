/* Under which paths a file is seen, in a mount namespace with mounts over, in and beside each other. */
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cell/mountinfo.h"
#include "folder.h"

#define NAMES_MAX 8

struct names {
    char *all[NAMES_MAX];
    size_t n;
};

static void note(void *arg, const char *other)
{
    struct names *names = arg;
    assert_true(names->n < NAMES_MAX);
    names->all[names->n++] = mem_dup(other);
}

static void put(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static void bind_at(const char *from, const char *at)
{
    assert_int_equal(mount(from, at, NULL, MS_BIND, NULL), 0);
}

/* The other names of folder/path are these, in any order, and no more. */
static void expect(const char *path, const char *const *others, size_t count)
{
    struct mountinfo info;
    struct names found = {.n = 0};
    FREE_AT_END char *whole = mem_format("%s/%s", folder, path);
    assert_int_equal(mountinfo_read(-1, &info), 0);
    assert_int_equal(mountinfo_names(&info, whole, note, &found), 0);
    for (size_t i = 0; i < count; i++) {
        FREE_AT_END char *other = mem_format("%s/%s", folder, others[i]);
        size_t k = 0;
        while (k < found.n && strcmp(found.all[k], other) != 0)
            k++;
        if (k == found.n)
            fail_msg("%s is not known as %s", path, others[i]);
    }
    for (size_t i = 0; i < found.n; i++)
        free(found.all[i]);
    assert_int_equal(found.n, count);
    mountinfo_done(&info);
}
#define EXPECT(path, ...)                                                                          \
    expect(path, (const char *const[]){__VA_ARGS__},                                               \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void bound_elsewhere(void)
{
    make_folder("one");
    make_folder("one/in");
    put("one/in/tool", "1");
    make_folder("two");
    bind_at("one/in", "two");
    EXPECT("one/in/tool", "two/tool");
    EXPECT("two/tool", "one/in/tool");
    EXPECT("two", "one/in");
    put("single", "");
    bind_at("one/in/tool", "single");
    EXPECT("one/in/tool", "two/tool", "single");
    EXPECT("single", "two/tool", "one/in/tool");
}

/* What lies deeper was mounted before, and is hidden by what lies above it. */
static void hidden_by_one_above(void)
{
    static const char *const folders[] = {"base", "base/deep", "base/other", "cover", "cover/deep",
                                          "seen"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(folders[i]);
    put("base/other/tool", "hidden");
    put("cover/deep/tool", "on top");
    bind_at("base/other", "base/deep");
    bind_at("cover", "base");
    EXPECT("base/deep/tool", "cover/deep/tool");
    bind_at("cover/deep", "seen");
    EXPECT("base/deep/tool", "cover/deep/tool", "seen/tool");
}

static void one_over_the_other(void)
{
    make_folder("stack");
    make_folder("first");
    make_folder("second");
    put("first/tool", "1");
    put("second/tool", "2");
    bind_at("second", "stack");
    bind_at("first", "stack");
    EXPECT("stack/tool", "first/tool");
    expect("second/tool", NULL, 0);
}

/* Since the mounts were read, one has ended, and another has its number. */
static void read_too_early(void)
{
    struct mountinfo info;
    struct names found = {.n = 0};
    FREE_AT_END char *path = mem_format("%s/late/tool", folder);
    make_folder("from");
    make_folder("early");
    make_folder("late");
    put("from/tool", "1");
    bind_at("from", "early");
    assert_int_equal(mountinfo_read(-1, &info), 0);
    assert_int_equal(umount2("early", 0), 0);
    bind_at("from", "late");
    assert_int_equal(mountinfo_names(&info, path, note, &found), -ESTALE);
    assert_int_equal(mountinfo_parts(&info, path, note, &found), -ESTALE);
    mountinfo_done(&info);
}

static void names_that_are_escaped(void)
{
    static const char *const odd[] = {"a b", "a\tb", "a\nb", "a\\b", "a#b", "a\\040b", "\xff"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        FREE_AT_END char *from = mem_format("%s from", odd[i]);
        FREE_AT_END char *tool = mem_format("%s/tool", from);
        FREE_AT_END char *other = mem_format("%s/tool", odd[i]);
        make_folder(from);
        make_folder(odd[i]);
        put(tool, odd[i]);
        bind_at(from, odd[i]);
        EXPECT(tool, other);
        EXPECT(other, tool);
    }
}

/* A namespace of its own, gone with this process. False: there are none for this user. */
static bool enter(void)
{
    uid_t uid = geteuid();
    if (uid != 0) {
        char map[64];
        snprintf(map, sizeof map, "%u %u 1", uid, uid);
        if (unshare(CLONE_NEWUSER) < 0)
            return false;
        put("/proc/self/uid_map", map);
    }
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void in_a_namespace(void (*act)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!enter())
            _exit(77);
        act();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

#define TEST(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        in_a_namespace(name);                                                                      \
    }
TEST(bound_elsewhere)
TEST(hidden_by_one_above)
TEST(one_over_the_other)
TEST(read_too_early)
TEST(names_that_are_escaped)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bound_elsewhere, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_hidden_by_one_above, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_one_over_the_other, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_read_too_early, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_names_that_are_escaped, folder_set_up,
                                        folder_tear_down),
    };
    return cmocka_run_group_tests_name("mountinfo", tests, NULL, NULL);
}
