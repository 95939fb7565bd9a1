#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "beneath_root.h"

static void make_tree(void)
{
    FREE_AT_END char *inside_host = mem_format("%s/d/b", host);
    FREE_AT_END char *beside = mem_format("%sx/secret", host);
    FREE_AT_END char *outside = mem_format("%s/out/secret", folder);
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/deep", 0755), 0);
    put("w/a", "A");
    put("w/d/b", "B");
    put("w/d/deep/c", "C");
    put_link("w/l_file", "a");
    put_link("w/l_dir", "d");
    put_link("w/l_dots", "d/../d/./deep/..");
    put_link("w/d/up", "../a");
    put_link("w/d/deep/up", "../../a");
    put_link("w/in", "/workspace/d/b");
    put_link("w/in_host", inside_host);
    put_link("w/in_root", "/workspace");
    put_link("w/d/in_back", "/workspace/d/deep/../up");
    put_link("w/chain1", "chain2");
    put_link("w/chain2", "/workspace/chain3");
    put_link("w/chain3", "l_dir/deep/up");
    put_link("w/dangling", "nowhere");
    put_link("w/dangling_deep", "no/where");
    put_link("w/dangling_in", "/workspace/d/new");
    put_link("w/self", "self");
    put_link("w/self_in", "/workspace/self_in");
    put_link("w/loop1", "loop2");
    put_link("w/loop2", "loop1");
    put_link("w/out", "../out/secret");
    put_link("w/out_abs", outside);
    put_link("w/out_beside", beside);
    put_link("w/out_in", "/workspace/../out/secret");
    put_link("w/out_chain", "out_abs");
    put_link("w/out_dir", "../out");
    put_link("w/d/out_deep", "../../out");
    put_link("w/etc", "/etc/passwd");
    put_link("w/machine", "/");
    put_link("w/proc", "/proc/self/root");
}

static void what_lies_inside_is_opened(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a", "A"},
        {"d/b", "B"},
        {"d/deep/c", "C"},
        {"l_file", "A"},
        {"l_dir/b", "B"},
        {"l_dots/b", "B"},
        {"d/up", "A"},
        {"l_dir/deep/up", "A"},
        {"d/../a", "A"},
        {"l_dir/../a", "A"},
        {"d/deep/../b", "B"},
        {"in", "B"},
        {"in_host", "B"},
        {"in_root/a", "A"},
        {"in_root/in_root/in", "B"},
        {"in_root/d/deep/../../a", "A"},
        {"d/in_back", "A"},
        {"chain1", "A"},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[64];
        struct err err;
        if (read_through(cases[i][0], text, &err) < 0)
            fail_msg("%s: %s", cases[i][0], err.message);
        assert_string_equal(text, cases[i][1]);
    }
}

static void what_does_not_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum err_code code;
    } cases[] = {
        {"out", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_abs", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_beside", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_in", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_chain", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_dir/secret", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"d/out_deep/secret", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"in_root/out_dir/secret", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"l_dir/../../out/secret", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"in_root/../out/secret", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"etc", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"machine/etc/passwd", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"proc/etc/passwd", ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"missing", ERR_NOT_FOUND},
        {"missing/a", ERR_NOT_FOUND},
        {"missing/../a", ERR_NOT_FOUND},
        {"dangling", ERR_NOT_FOUND},
        {"dangling_in", ERR_NOT_FOUND},
        {"self", ERR_NOT_FOUND},
        {"self_in", ERR_NOT_FOUND},
        {"loop1", ERR_NOT_FOUND},
        {"loop1/a", ERR_NOT_FOUND},
        {"a/b", ERR_NOT_A_DIRECTORY},
        {"l_file/b", ERR_NOT_A_DIRECTORY},
        {"a/../d/b", ERR_NOT_A_DIRECTORY},
        {"d", ERR_NOT_A_FILE},
        {"l_dir", ERR_NOT_A_FILE},
        {"in_root", ERR_NOT_A_FILE},
        {".", ERR_NOT_A_FILE},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[64];
        struct err err;
        if (read_through(cases[i].path, text, &err) == 0)
            fail_msg("%s is read as %s", cases[i].path, text);
        if (err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].path, err.message);
    }
}

/* As many links as the kernel itself follows, be they relative or not. */
static void long_chains_end_somewhere(void **state)
{
    (void)state;
    for (int absolute = 0; absolute < 2; absolute++) {
        put("w/link0", "end");
        for (int i = 1; i <= 42; i++) {
            FREE_AT_END char *name = mem_format("w/link%d", i);
            FREE_AT_END char *target = mem_format("%slink%d", absolute ? "/workspace/" : "", i - 1);
            put_link(name, target);
        }
        char text[64];
        struct err err;
        assert_int_equal(read_through("link40", text, &err), 0);
        assert_string_equal(text, "end");
        assert_int_equal(read_through("link41", text, &err), -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
        assert_string_equal(err.reason, "link_loop");
        assert_int_equal(folder_remove("w") | mkdir("w", 0755), 0);
        close(root.fd);
        root.fd = open("w", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
}

static void only_files_are_files(void **state)
{
    (void)state;
    static const char *const names[] = {"fifo", "socket", "l_fifo", "in_fifo"};
    /* What blocks must not hold up the run. */
    alarm(20);
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "w/socket"};
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(mkfifo("w/fifo", 0644), 0);
    put_link("w/l_fifo", "fifo");
    put_link("w/in_fifo", "/workspace/fifo");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[64];
        struct err err;
        FD_AT_END int opened = -1;
        assert_int_equal(read_through(names[i], text, &err), -1);
        assert_int_equal(err.code, ERR_NOT_A_FILE);
        assert_non_null(strstr(err.message, i == 1 ? "socket" : "FIFO"));
        /* Nobody writes to it: this would wait for ever. */
        if (i != 1)
            assert_int_equal(beneath_open(&root, names[i], O_RDONLY, &opened, &err), 0);
    }
    alarm(0);
}

static void descriptors_do_not_leak_into_children(void **state)
{
    (void)state;
    struct err err;
    static const char *const paths[] = {"a", "in", "l_dir", "in_root"};
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        FD_AT_END int fd = -1;
        assert_int_equal(beneath_open(&root, paths[i], O_RDONLY, &fd, &err), 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

static void links_are_told_from_files(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool link;
    } cases[] = {
        {"a", false},       {"d", false},          {".", false},       {"d/..", false},
        {"l_file", true},   {"in", true},          {"dangling", true}, {"l_dir/b", false},
        {"l_dir/up", true}, {"in_root/out", true},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool link;
        struct err err;
        assert_int_equal(beneath_is_link(&root, cases[i].path, &link, &err), 0);
        assert_int_equal(link, cases[i].link);
    }
    bool link;
    struct err err;
    assert_int_equal(beneath_is_link(&root, "missing", &link, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(beneath_is_link(&root, "out_dir/secret", &link, &err), -1);
    assert_int_equal(err.code, ERR_SYMLINK_OUTSIDE_WORKSPACE);
}

static void a_place_is_where_the_file_will_be(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *folder;
        const char *name;
    } cases[] = {
        {"a", "w", "a"},
        {"new", "w", "new"},
        {"d/b", "w/d", "b"},
        {"d/new", "w/d", "new"},
        {"l_dir/new", "w/d", "new"},
        {"l_file", "w", "a"},
        {"d/up", "w", "a"},
        {"in", "w/d", "b"},
        {"in_root/new", "w", "new"},
        {"chain1", "w", "a"},
        {"dangling", "w", "nowhere"},
        {"dangling_in", "w/d", "new"},
        {"d/deep/../new", "w/d", "new"},
        {"d", "w", "d"},
        {"x/y/z", "w/x/y", "z"},
        {"l_dir/x/y", "w/d/x", "y"},
        {"dangling_deep", "w/no", "where"},
        {"in_root/p/q", "w/p", "q"},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct beneath_place place;
        struct err err;
        if (beneath_place(&root, cases[i].path, true, &place, &err) < 0)
            fail_msg("%s: %s", cases[i].path, err.message);
        assert_string_equal(place.name, cases[i].name);
        assert_is_folder(place.dir, cases[i].folder);
        close(place.dir);
    }
}

static void some_places_do_not_exist(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool make;
        enum err_code code;
    } cases[] = {
        {"out", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_dir/new", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"out_abs", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"etc", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"machine/tmp/new", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"in_root/../out/new", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"missing/../../out/new", true, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {".", true, ERR_NOT_A_FILE},
        {"d/..", true, ERR_NOT_A_FILE},
        {"in_root", true, ERR_NOT_A_FILE},
        {"a/new", true, ERR_NOT_A_DIRECTORY},
        {"self", true, ERR_NOT_FOUND},
        {"loop1/new", true, ERR_NOT_FOUND},
        {"x/y", false, ERR_NOT_FOUND},
        {"dangling_deep", false, ERR_NOT_FOUND},
        {"dangling/new", false, ERR_NOT_FOUND},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct beneath_place place;
        struct err err;
        if (beneath_place(&root, cases[i].path, cases[i].make, &place, &err) == 0)
            fail_msg("%s: %s", cases[i].path, place.name);
        if (err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].path, err.message);
    }
    assert_int_equal(access("out/new", F_OK), -1);
    assert_int_equal(access("w/x", F_OK), -1);
}

static void deep_path(char out[2000], int folders)
{
    out[0] = '\0';
    for (int i = 0; i < folders; i++)
        memcpy(out + 2 * (size_t)i, "f/", 3);
    memcpy(out + 2 * (size_t)folders, "file", 5);
}

static void folders_are_made_to_a_limit_or_not_at_all(void **state)
{
    (void)state;
    char path[2000];
    struct beneath_place place;
    struct err err;
    deep_path(path, 400);
    assert_int_equal(beneath_place(&root, path, true, &place, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
    assert_int_equal(access("w/f", F_OK), -1);
    deep_path(path, 200);
    assert_int_equal(beneath_place(&root, path, true, &place, &err), 0);
    assert_string_equal(place.name, "file");
    close(place.dir);
}

static void a_new_file_takes_nobodys_name(void **state)
{
    (void)state;
    static const char *const taken[] = {"a", "d", "l_file", "dangling", "out"};
    make_tree();
    FD_AT_END int dir = open("w", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        int fd = -1;
        assert_int_equal(beneath_create(dir, taken[i], &fd), -1);
        assert_int_equal(errno, EEXIST);
        assert_int_equal(fd, -1);
    }
    FD_AT_END int fd = -1;
    assert_int_equal(beneath_create(dir, "fresh", &fd), 0);
    assert_int_equal(fd_write_all(fd, "x", 1), 0);
    assert_int_equal(access("w/fresh", F_OK), 0);
    FD_AT_END int listing = beneath_reopen_dir(dir);
    assert_true(listing >= 0 && fsync(listing) == 0);
}

static void errors_name_the_path(void **state)
{
    (void)state;
    static const struct {
        int error;
        enum err_code code;
    } cases[] = {
        {ENOENT, ERR_NOT_FOUND},      {ENOTDIR, ERR_NOT_A_DIRECTORY},
        {EISDIR, ERR_NOT_A_FILE},     {EACCES, ERR_PERMISSION_DENIED},
        {EROFS, ERR_READ_ONLY},       {ENOSPC, ERR_DISK_FULL},
        {EDQUOT, ERR_DISK_FULL},      {EFBIG, ERR_DISK_FULL},
        {EEXIST, ERR_ALREADY_EXISTS}, {ENAMETOOLONG, ERR_INVALID_ARGUMENTS},
        {EMFILE, ERR_SESSION_BUSY},   {EIO, ERR_INTERNAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        assert_int_equal(beneath_errno(&err, cases[i].error, "some/path"), -1);
        assert_int_equal(err.code, cases[i].code);
        if (cases[i].error != EMFILE)
            assert_non_null(strstr(err.message, "some/path"));
    }
}

/* Whether it lies in a git directory cannot be told then, so it is refused; that is no matter of a rule. */
static void a_place_that_cannot_be_judged_is_busy(void **state)
{
    (void)state;
    static const char rules[] = "P.git";
    struct err err = {0};
    struct rlimit before;
    struct beneath_real real = {.text = "a", .link_verdict = GUARD_OPEN};
    struct beneath_root guarded = root;
    struct guard *guard = guard_new((struct str){rules, sizeof rules}, &err);
    assert_non_null(guard);
    guarded.guard = guard;
    assert_int_equal(beneath_judge(&guarded, "a", &real, 0, &err), 0);
    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max});
    int r = beneath_judge(&guarded, "a", &real, 0, &err);
    setrlimit(RLIMIT_NOFILE, &before);
    guard_unref(guard);
    assert_int_equal(r, -1);
    assert_int_equal(err.code, ERR_SESSION_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_lies_inside_is_opened),
        TEST(what_does_not_is_refused),
        TEST(long_chains_end_somewhere),
        TEST(only_files_are_files),
        TEST(descriptors_do_not_leak_into_children),
        TEST(links_are_told_from_files),
        TEST(a_place_is_where_the_file_will_be),
        TEST(some_places_do_not_exist),
        TEST(folders_are_made_to_a_limit_or_not_at_all),
        TEST(a_new_file_takes_nobodys_name),
        TEST(errors_name_the_path),
        TEST(a_place_that_cannot_be_judged_is_busy),
    };
    return cmocka_run_group_tests_name("beneath", tests, NULL, NULL);
}
