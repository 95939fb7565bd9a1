/* Deleting files and whole folders. */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sys/file.h>

#include "work_parts.h"

static int delete (const char *path, bool recursive, struct op_delete_reply *ret, struct err *err)
{
    union op_request request = {
        .delete = {.path = text_str(path), .tag = STR("t1"), .recursive = recursive}};
    union op_reply reply = {0};
    *err = (struct err){0};
    int r = work_delete(&work, &request, (struct str){"", 0}, &reply, err);
    *ret = reply.delete;
    return r;
}

static void must_delete(const char *path, bool recursive, enum file_type type, int64_t count)
{
    struct op_delete_reply reply;
    struct err err;
    if (delete (path, recursive, &reply, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    assert_int_equal(reply.type, type);
    assert_int_equal(reply.count, count);
}

static enum err_code refusal(const char *path, bool recursive)
{
    struct op_delete_reply reply;
    struct err err;
    assert_int_equal(delete (path, recursive, &reply, &err), -1);
    return err.code;
}

static void one_entry(void **state)
{
    (void)state;
    put("w/a", "A");
    put("w/b", "B");
    assert_int_equal(mkdir("w/d", 0755) | mkfifo("w/p", 0600), 0);
    must_delete("a", false, TYPE_FILE, 1);
    must_delete("b", true, TYPE_FILE, 1);
    must_delete("d", false, TYPE_DIRECTORY, 1);
    must_delete("p", false, TYPE_OTHER, 1);
    assert_false(is_there("w/a") || is_there("w/b") || is_there("w/d") || is_there("w/p"));
    assert_int_equal(refusal("a", true), ERR_NOT_FOUND);
}

static void a_full_folder_needs_to_be_meant(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    put("w/d/a", "A");
    assert_int_equal(refusal("d", false), ERR_CONFLICT);
    assert_true(is_there("w/d/a"));
    must_delete("d", true, TYPE_DIRECTORY, 2);
    assert_false(is_there("w/d"));
}

static void links_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/e", 0755) | mkdir("w/kept", 0755), 0);
    put("w/kept/a", "A");
    put_link("w/d/in", "../kept");
    put_link("w/d/e/out", "../../../out");
    put_link("w/d/file", "../../out/secret");
    put_link("w/d/nowhere", "nope");
    put_link("w/l", "d");
    put_link("w/o", "../out");
    must_delete("l", true, TYPE_SYMLINK, 1);
    must_delete("o", true, TYPE_SYMLINK, 1);
    must_delete("d", true, TYPE_DIRECTORY, 6);
    assert_true(is_there("w/kept/a") && is_there("out/secret"));
    assert_false(is_there("w/d"));
}

static void the_way_does_not_lead_out(void **state)
{
    (void)state;
    put_link("w/o", "../out");
    assert_int_equal(refusal("o/secret", false), ERR_SYMLINK_OUTSIDE_WORKSPACE);
    assert_true(is_there("out/secret"));
}

/* More names than one look at the folder brings, and folders among them. */
static void large_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    for (int i = 0; i < 3000; i++) {
        char name[64];
        snprintf(name, sizeof name, "w/d/a name of some length %05d", i);
        if (i % 10 == 0)
            assert_int_equal(mkdir(name, 0755), 0);
        else
            put(name, "");
    }
    must_delete("d", true, TYPE_DIRECTORY, 3001);
    assert_false(is_there("w/d"));
}

static void deep_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    put_deep("w/d", 150);
    must_delete("d", true, TYPE_DIRECTORY, 151);
    assert_false(is_there("w/d"));
}

/* Too deep to be removed: told, and back under its own name. */
static void folders_that_are_too_deep(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    put_deep("w/d", 300);
    put("w/d/d/a", "A");
    assert_int_equal(refusal("d", true), ERR_INVALID_ARGUMENTS);
    assert_true(is_there("w/d/d"));
    int names = 0;
    FD_AT_END int fd = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char listing[1000];
    for (ssize_t got = getdents64(fd, listing, sizeof listing), at = 0; at < got;) {
        const struct dirent64 *d = (const void *)(listing + at);
        at += d->d_reclen;
        names++;
    }
    assert_int_equal(names, 3); /* itself, its parent and d */
}

static void a_cancel_is_heard(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    put("w/d/a", "A");
    atomic_store(&cancelled, true);
    assert_int_equal(refusal("d", true), ERR_CANCELLED);
    assert_true(is_there("w/d/a"));
}

static void what_may_not_be_written_stays(void **state)
{
    (void)state;
    put("w/a", "A");
    root.writable = false;
    assert_int_equal(refusal("a", false), ERR_READ_ONLY);
    assert_true(is_there("w/a"));
}

/* Another gate is at work in the folder. */
static void a_lock_on_the_folder_holds(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    put("w/d/a", "A");
    int other = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(refusal("d", true), ERR_CONFLICT);
    assert_true(is_there("w/d/a"));
    close(other);
    must_delete("d", true, TYPE_DIRECTORY, 2);
}

static void a_tree_is_counted(void **state)
{
    (void)state;
    int64_t count = 5;
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/e", 0755), 0);
    put("w/d/a", "");
    put("w/d/e/b", "");
    FD_AT_END int dir = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(work_remove_tree(&work, dir, "d", NULL, &count), 0);
    assert_int_equal(count, 9);
    assert_int_equal(work_remove_tree(&work, dir, "d", NULL, &count), -ENOENT);
    assert_int_equal(count, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(one_entry),
        WORK_TEST(a_full_folder_needs_to_be_meant),
        WORK_TEST(links_are_not_followed),
        WORK_TEST(the_way_does_not_lead_out),
        WORK_TEST(large_folders),
        WORK_TEST(deep_folders),
        WORK_TEST(folders_that_are_too_deep),
        WORK_TEST(a_cancel_is_heard),
        WORK_TEST(a_lock_on_the_folder_holds),
        WORK_TEST(what_may_not_be_written_stays),
        WORK_TEST(a_tree_is_counted),
    };
    return cmocka_run_group_tests_name("remove", tests, NULL, NULL);
}
