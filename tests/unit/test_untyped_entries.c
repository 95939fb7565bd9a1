/* Links in guarded folders of a file system that does not tell the types of entries when it lists a folder. */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/guard_trees.h"
#include "work_calls.h"

static struct guard_trees trees;

/* Takes the place of libc's: the list is the real one without its types, as XFS without ftype lists a folder. */
ssize_t getdents64(int fd, void *listing, size_t size)
{
    ssize_t n = syscall(SYS_getdents64, fd, listing, size);
    for (ssize_t at = 0; at < n;) {
        struct dirent64 *d = (void *)((char *)listing + at);
        d->d_type = DT_UNKNOWN;
        at += d->d_reclen;
    }
    return n;
}

static int untyped_set_up(void **state)
{
    static const char rules[] = "P.git\0P.husky\0S.env";
    static const char *const folders[] = {"w/.git",      "w/.git/hooks", "w/.git/objects",
                                          "w/.git/refs", "w/.husky",     "w/.husky/deep",
                                          "w/tools",     "w/listed"};
    struct err err;
    if (work_set_up(state) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_int_equal(mkdir(folders[i], 0755), 0);
    put("w/.git/HEAD", "ref: refs/heads/main\n");
    put("w/tools/a", "x");
    put("w/tools/b", "x");
    put("w/tools/c", "x");
    put("w/tools/plain", "x");
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    assert_non_null(work.guard);
    root.guard = work.guard;
    guard_trees_init(&trees, -1);
    return 0;
}

static int untyped_tear_down(void **state)
{
    guard_trees_done(&trees);
    guard_unref(TAKE_PTR(work.guard));
    root.guard = NULL;
    return work_tear_down(state);
}

static bool is_found(const char *path)
{
    union op_request q = {.scan = {.path = STR("."), .max_entries = 1000, .max_guarded = 1000}};
    union op_reply reply = {0};
    struct op_guarded entry;
    struct err err;
    work.trees = &trees;
    buf_reset(&work.body, 1 << 16);
    if (work_scan(&work, &q, STR(""), &reply, &err) < 0)
        fail_msg("%s", err.message);
    bool found = false;
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &entry) > 0;)
        found |= str_is(entry.path, path);
    return found;
}

static void links_in_a_protected_folder_are_followed(void **state)
{
    (void)state;
    put_link("w/.husky/pre-commit", "../tools/a");
    put_link("w/.husky/deep/pre-push", "../../tools/b");
    assert_true(is_found("tools/a"));
    assert_true(is_found("tools/b"));
    assert_false(is_found("tools/plain"));
}

/* `hooks` is a link to a folder, and a hook in that folder is a link. */
static void links_in_a_folder_of_hooks_are_followed(void **state)
{
    (void)state;
    assert_int_equal(rmdir("w/.git/hooks"), 0);
    put_link("w/.git/hooks", "../listed");
    put_link("w/listed/pre-commit", "../tools/c");
    assert_true(is_found("tools/c"));
    assert_false(is_found("tools/plain"));
}

/* Without a scan: a tool looks into the git directory itself. */
static void a_tool_does_not_change_a_hook(void **state)
{
    (void)state;
    struct err err;
    put_link("w/.git/hooks/pre-commit", "../../tools/a");
    assert_int_equal(do_write("tools/a", &err), -1);
    assert_int_equal(err.code, ERR_PERMISSION_DENIED);
    assert_int_equal(do_write("tools/plain", &err), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, untyped_set_up, untyped_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(links_in_a_protected_folder_are_followed),
        CASE(links_in_a_folder_of_hooks_are_followed),
        CASE(a_tool_does_not_change_a_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
