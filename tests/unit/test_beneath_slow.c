#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "beneath_root.h"
#include "random.h"

#define LONG 8192

/* A resolver that is slow and works on texts: what it finds, beneath_open must open. */

struct slow {
    char folder[LONG]; /* from the root; "" is the root itself */
    char name[256];    /* in it; "." where the path ends at a folder */
    int links;
};

static void join(char out[2 * LONG], const char *dir, const char *name)
{
    snprintf(out, 2 * LONG, "w%s%s/%s", *dir ? "/" : "", dir, name);
}

/* The target as a path from the root, or NULL where it leads out; *ret_absolute: not from here. */
static const char *inside_part(const char *target, bool *ret_absolute)
{
    const char *prefixes[] = {"/workspace", host};
    *ret_absolute = target[0] == '/';
    if (target[0] != '/')
        return target;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(target, prefixes[i], n) == 0 && (target[n] == '/' || target[n] == '\0'))
            return target + n;
    }
    return NULL;
}

static int slow_follow(struct slow *s, const char *link, char todo[LONG])
{
    char target[LONG];
    char rest[LONG];
    bool absolute;
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0)
        return -errno;
    target[n] = '\0';
    if (++s->links > 40)
        return -ELOOP;
    const char *part = inside_part(target, &absolute);
    if (!part)
        return -EXDEV;
    if (absolute)
        s->folder[0] = '\0';
    snprintf(rest, sizeof rest, "%s", todo);
    snprintf(todo, LONG, "%.4000s/%.4000s", part, rest);
    return 0;
}

/* 1: go on, 0: s->name is the last one. */
static int slow_step(struct slow *s, const char *name, char todo[LONG])
{
    char full[2 * LONG];
    struct stat st;
    bool last = strspn(todo, "/") == strlen(todo);
    if (strcmp(name, ".") == 0)
        return 1;
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(s->folder, '/');
        if (!s->folder[0])
            return -EXDEV;
        *(slash ? slash : s->folder) = '\0';
        return 1;
    }
    join(full, s->folder, name);
    int r = lstat(full, &st);
    if (r == 0 && S_ISLNK(st.st_mode)) {
        r = slow_follow(s, full, todo);
        return r < 0 ? r : 1;
    }
    if (last) {
        snprintf(s->name, sizeof s->name, "%s", name);
        return r == 0 || errno == ENOENT ? 0 : -errno;
    }
    if (r < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    snprintf(full, sizeof full, "%.4000s%s%s", s->folder, s->folder[0] ? "/" : "", name);
    snprintf(s->folder, sizeof s->folder, "%.8000s", full);
    return 1;
}

static int slow_walk(const char *path, struct slow *s)
{
    char todo[LONG];
    *s = (struct slow){0};
    snprintf(todo, sizeof todo, "%s", path);
    for (;;) {
        char name[256];
        char rest[LONG];
        const char *at = todo + strspn(todo, "/");
        size_t n = strcspn(at, "/");
        if (n == 0) {
            snprintf(s->name, sizeof s->name, ".");
            return 0;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        snprintf(rest, sizeof rest, "%s", at + n);
        snprintf(todo, sizeof todo, "%s", rest);
        int r = slow_step(s, name, todo);
        if (r <= 0)
            return r;
    }
}

static const char *random_name(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    return names[random_below(ARRAY_LEN(names))];
}

static void random_path(char out[200], size_t most)
{
    size_t n = 0;
    for (size_t left = 1 + random_below(most); left > 0; left--)
        n += (size_t)snprintf(out + n, 200 - n, "%s%s", random_below(5) ? random_name() : "..",
                              left > 1 ? "/" : "");
}

static void random_target(char out[5000])
{
    char path[200];
    random_path(path, 4);
    switch (random_below(8)) {
    case 0:
        snprintf(out, 5000, "/workspace/%s", path);
        break;
    case 1:
        snprintf(out, 5000, "%s/%s", host, path);
        break;
    case 2:
        snprintf(out, 5000, "%s", random_below(2) ? "/workspace" : "../out/secret");
        break;
    case 3:
        snprintf(out, 5000, "../%s", path);
        break;
    default:
        snprintf(out, 5000, "%s", path);
    }
}

/* Folders, files and links with few names, so that they meet. */
static void random_tree(void)
{
    char folders[16][64] = {"w"};
    size_t n_folders = 1;
    for (int i = 0; i < 14; i++) {
        char path[128];
        char target[5000];
        snprintf(path, sizeof path, "%s/%s", folders[random_below(n_folders)], random_name());
        switch (random_below(5)) {
        case 0:
        case 1:
            if (mkdir(path, 0755) == 0 && strlen(path) < 63)
                snprintf(folders[n_folders++], 64, "%.63s", path);
            break;
        case 2:
            if (access(path, F_OK) < 0 && mknod(path, S_IFREG | 0644, 0) < 0)
                assert_int_equal(errno, EEXIST);
            break;
        default:
            random_target(target);
            if (symlink(target, path) < 0)
                assert_int_equal(errno, EEXIST);
        }
    }
}

static void assert_in_root(int fd, const char *path)
{
    char link[64];
    char where[5000];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, where, sizeof where);
    if (n < 0 || !path_beneath((struct str){where, (size_t)n}, host))
        fail_msg("%s leads to %.*s", path, (int)n, where);
}

static void compare_open(const char *path)
{
    struct slow s;
    struct err err = {0};
    struct err expected;
    struct stat a;
    struct stat b;
    char full[2 * LONG];
    FD_AT_END int fd = -1;
    int r = slow_walk(path, &s);
    join(full, s.folder, s.name);
    if (r == 0 && lstat(full, &a) < 0)
        r = -errno;
    int got = beneath_open(&root, path, O_PATH, &fd, &err);
    if ((got == 0) != (r == 0))
        fail_msg("%s: expected %s, got %s", path, r ? strerror(-r) : full,
                 got ? err.message : "it");
    if (r < 0) {
        beneath_errno(&expected, -r, path);
        if (err.code != expected.code)
            fail_msg("%s: expected %s, got %s", path, expected.message, err.message);
        return;
    }
    assert_int_equal(fstat(fd, &b), 0);
    if (a.st_ino != b.st_ino)
        fail_msg("%s is not %s", path, full);
    assert_in_root(fd, path);
}

static void compare_place(const char *path)
{
    struct slow s;
    struct err err = {0};
    struct beneath_place place;
    char full[2 * LONG];
    int r = slow_walk(path, &s);
    if (r == 0 && strcmp(s.name, ".") == 0)
        r = -EISDIR;
    int got = beneath_place(&root, path, false, &place, &err);
    if ((got == 0) != (r == 0))
        fail_msg("%s: expected %s, got %s", path, r ? strerror(-r) : s.name,
                 got ? err.message : place.name);
    if (got < 0)
        return;
    snprintf(full, sizeof full, "w/%s", s.folder);
    assert_string_equal(place.name, s.name);
    assert_is_folder(place.dir, full);
    assert_in_root(place.dir, path);
    close(place.dir);
}

/* Making folders on the way changes the tree, but only inside. */
static void make_place(const char *path)
{
    struct beneath_place place;
    struct err err;
    struct stat st;
    if (beneath_place(&root, path, true, &place, &err) < 0)
        return;
    assert_in_root(place.dir, path);
    assert_null(strchr(place.name, '/'));
    assert_true(strcmp(place.name, ".") != 0 && strcmp(place.name, "..") != 0 && place.name[0]);
    if (fstatat(place.dir, place.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        assert_false(S_ISLNK(st.st_mode));
    close(place.dir);
}

static void every_tree_is_resolved_as_the_slow_way(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(300); round++) {
        random_tree();
        for (int i = 0; i < 40; i++) {
            char path[200];
            random_path(path, 5);
            compare_open(path);
            compare_place(path);
        }
        for (int i = 0; i < 5; i++) {
            char path[200];
            random_path(path, 4);
            make_place(path);
        }
        struct stat st;
        assert_int_equal(stat("out/secret", &st), 0);
        assert_int_equal(st.st_size, 6);
        assert_int_equal(rmdir("out"), -1);
        assert_int_equal(folder_remove("w") | mkdir("w", 0755), 0);
        close(root.fd);
        root.fd = open("w", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(root.fd >= 0);
    }
}

/* --- while someone renames */

static atomic_bool stop;

static void *swap_for_ever(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        if (renameat2(AT_FDCWD, "w/d", AT_FDCWD, "w/trap", RENAME_EXCHANGE) < 0)
            return &stop;
    }
    return NULL;
}

static void a_folder_that_becomes_a_link_leads_nowhere(void **state)
{
    (void)state;
    static const char *const paths[] = {"d/secret", "l/secret", "in/secret", "d/x/../secret"};
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/x", 0755) | mkdir("out/x", 0755), 0);
    put("w/d/secret", "harmless");
    put_link("w/trap", "../out");
    put_link("w/l", "d");
    put_link("w/in", "/workspace/d");
    atomic_store(&stop, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swap_for_ever, NULL), 0);
    unsigned opened = 0;
    for (unsigned i = 0; i < random_rounds(40000); i++) {
        char text[64];
        struct err err;
        struct beneath_place place;
        if (read_through(paths[i % 4], text, &err) == 0) {
            assert_string_equal(text, "harmless");
            opened++;
        }
        if (beneath_place(&root, paths[i % 4], true, &place, &err) == 0) {
            assert_int_equal(faccessat(place.dir, "../secret", F_OK, 0), -1);
            assert_in_root(place.dir, paths[i % 4]);
            close(place.dir);
        }
    }
    atomic_store(&stop, true);
    void *problem;
    pthread_join(thread, &problem);
    assert_null(problem);
    assert_true(opened > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_tree_is_resolved_as_the_slow_way),
        TEST(a_folder_that_becomes_a_link_leads_nowhere),
    };
    return cmocka_run_group_tests_name("beneath_slow", tests, NULL, NULL);
}
