/* Opening name by name gives what openat2 gives: for all paths of a few names in a small tree. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/resolve.h"
#include "folder.h"

static const char *const names[] = {"a",    "b",    ".",   "..",   "file", "none",
                                    "into", "back", "out", "root", "self", "dangling"};
#define NAMES (sizeof names / sizeof *names)
#define LENGTH 3

static int top = -1;

static void make_links(int dir)
{
    static const char *const links[][2] = {{"a", "into"},       {"..", "back"},
                                           {"../../..", "out"}, {"/etc", "root"},
                                           {"self", "self"},    {"none/x", "dangling"}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        assert_int_equal(symlinkat(links[i][0], dir, links[i][1]), 0);
    FD_AT_END int file = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
}

static int set_up(void **state)
{
    if (folder_set_up(state) < 0 || mkdirat(folder_fd, "top", 0700) < 0)
        return -1;
    top = openat(folder_fd, "top", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(top >= 0);
    make_links(top);
    static const char *const folders[] = {"a", "a/a", "a/b", "b"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_int_equal(mkdirat(top, folders[i], 0700), 0);
        FD_AT_END int dir = openat(top, folders[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        make_links(dir);
    }
    return 0;
}

/* EAGAIN: something was renamed anywhere on the machine meanwhile. */
static int ask_kernel(const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .resolve = resolve};
    int fd = -1;
    for (errno = EAGAIN; fd < 0 && errno == EAGAIN;)
        fd = (int)syscall(SYS_openat2, top, path, &how, sizeof how);
    return fd;
}

static void compare(const char *path, int flags, uint64_t resolve)
{
    struct stat a = {0};
    struct stat b = {0};
    FD_AT_END int kernel = ask_kernel(path, flags, resolve);
    int error = kernel < 0 ? errno : 0;
    FD_AT_END int own = resolve_by_names(top, path, flags, 0, resolve);
    int got = own < 0 ? errno : 0;
    if (error == 0 && got == 0 && fstat(kernel, &a) == 0 && fstat(own, &b) == 0 &&
        a.st_ino == b.st_ino && a.st_mode == b.st_mode)
        return;
    if (error != got || error == 0)
        fail_msg("%s, flags %x, resolve %llx: %d, not %d", path, (unsigned)flags,
                 (unsigned long long)resolve, got, error);
}

static void compare_all(const char *path)
{
    static const int flags[] = {O_RDONLY,
                                O_PATH,
                                O_PATH | O_NOFOLLOW,
                                O_RDONLY | O_NOFOLLOW,
                                O_PATH | O_DIRECTORY,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW};
    static const uint64_t resolve[] = {RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
                                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
                                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        for (size_t k = 0; k < sizeof resolve / sizeof *resolve; k++)
            compare(path, flags[i], resolve[k]);
    }
}

static void compare_below(char *path, size_t n, int left)
{
    for (size_t i = 0; i < NAMES; i++) {
        int length = snprintf(path + n, 64, "%s%s", n ? "/" : "", names[i]);
        compare_all(path);
        if (left > 1)
            compare_below(path, n + (size_t)length, left - 1);
    }
}

static void every_path_leads_where_the_kernel_goes(void **state)
{
    (void)state;
    char path[256];
    compare_below(path, 0, LENGTH);
}

static void odd_paths(void **state)
{
    (void)state;
    static const char *const odd[] = {"/",     "/etc",    "a/",         "a//b",    "a/./b/",
                                      "file/", "a/../b/", "..",         "a/../..", "into/",
                                      "none/", "./",      "root/passwd"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        compare_all(odd[i]);
}

static void files_are_made(void **state)
{
    (void)state;
    const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    FD_AT_END int made = resolve_by_names(top, "a/new", flags, 0600, resolve);
    assert_true(made >= 0);
    assert_int_equal(resolve_by_names(top, "a/new", flags, 0600, resolve), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(resolve_by_names(top, "a/dangling", flags, 0600, resolve), -1);
    assert_int_equal(resolve_by_names(top, "root/new", flags, 0600, resolve), -1);
    assert_int_equal(unlinkat(top, "a/new", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_leads_where_the_kernel_goes),
        cmocka_unit_test(odd_paths),
        cmocka_unit_test(files_are_made),
    };
    return cmocka_run_group_tests(tests, set_up, folder_tear_down);
}
