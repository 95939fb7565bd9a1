/* A root `w` in each test's folder, and beside it what must not be reached. */
#ifndef SANDGATE_TESTS_BENEATH_ROOT_H
#define SANDGATE_TESTS_BENEATH_ROOT_H

#include "base/fd.h"
#include "folder.h"
#include "json_text.h"
#include "work/beneath.h"

static struct beneath_root root;
static char host[4200];

static inline void put(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static inline void put_link(const char *path, const char *target)
{
    if (symlink(target, path) < 0)
        fail_msg("%s -> %s: %s", path, target, strerror(errno));
}

static inline int set_up(void **state)
{
    if (folder_set_up(state) < 0 || mkdir("w", 0755) < 0 || mkdir("out", 0755) < 0 ||
        mkdir("wx", 0755) < 0)
        return -1;
    put("out/secret", "SECRET");
    put("wx/secret", "SECRET");
    snprintf(host, sizeof host, "%s/w", folder);
    root = (struct beneath_root){open("w", O_PATH | O_DIRECTORY | O_CLOEXEC), "/workspace", host,
                                 true};
    return root.fd < 0 ? -1 : 0;
}

static inline int tear_down(void **state)
{
    close(root.fd);
    return folder_tear_down(state);
}

static inline int read_through(const char *path, char text[64], struct err *err)
{
    FD_AT_END int fd = -1;
    struct stat st;
    if (beneath_open_file(&root, path, &fd, &st, err) < 0)
        return -1;
    ssize_t n = fd_read_upto(fd, text, 63);
    assert_true(n >= 0 && n == st.st_size);
    text[n] = '\0';
    return 0;
}

static inline void assert_is_folder(int fd, const char *path)
{
    struct stat a;
    struct stat b;
    assert_int_equal(fstat(fd, &a) | stat(path, &b), 0);
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        fail_msg("it is not in %s", path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
