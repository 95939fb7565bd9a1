/* What a scan finds before a command is started. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "work_parts.h"

static const char *const kinds[] = {"protected", "secret", "socket", "way"};

static int guarded_set_up(void **state)
{
    static const char rules[] = "P.git/hooks\0P.git/config\0P.git/modules/**/config\0P/.ssh\0"
                                "Sid_rsa\0S.env\0S.env.*\0S!.env.example\0S*.key\0Svault/";
    struct err err;
    if (work_set_up(state) < 0)
        return -1;
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    return work.guard ? 0 : -1;
}

static int guarded_tear_down(void **state)
{
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

#define GUARDED(name) cmocka_unit_test_setup_teardown(name, guarded_set_up, guarded_tear_down)

static void put_at(const char *path)
{
    FREE_AT_END char *copy = mem_format("w/%s", path);
    for (char *slash = copy + 2; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(copy, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    if (copy[strlen(copy) - 1] != '/')
        put(copy, "x");
}

static struct op_scan_reply scan(int64_t max_entries, int64_t max_depth, struct buf *ret)
{
    union op_request q = {
        .scan = {.path = STR("."), .max_entries = max_entries, .max_depth = max_depth}};
    union op_reply reply = {0};
    struct err err;
    struct op_guarded found;
    int64_t count = 0;
    int r;
    buf_reset(&work.body, 1 << 16);
    if (work_scan(&work, &q, STR(""), &reply, &err) < 0)
        fail_msg("%s", err.message);
    struct str rest = buf_str(&work.body);
    for (; (r = op_guarded_next(&rest, &found)) > 0; count++)
        buf_addf(ret, "%s %s %.*s\n", kinds[found.kind], file_type_names[found.type],
                 (int)found.path.n, found.path.p);
    assert_int_equal(r, 0);
    assert_int_equal(count, reply.scan.count);
    return reply.scan;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order within a folder is the file system's. */
static void assert_found(struct buf *found, const char *const *expected, size_t count)
{
    char *lines[64];
    size_t n = 0;
    char *text = (char *)(uintptr_t)buf_text(found);
    for (char *line = strtok(text, "\n"); line && n < ARRAY_LEN(lines); line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n || i < count; i++) {
        const char *got = i < n ? lines[i] : "nothing";
        const char *wanted = i < count ? expected[i] : "nothing";
        if (strcmp(got, wanted) != 0)
            fail_msg("%s, not %s", got, wanted);
    }
}

static void everything_named_is_found(void **state)
{
    (void)state;
    static const char *const there[] = {
        ".git/hooks/a",
        ".git/config",
        ".git/HEAD",
        ".git/objects/x.key",
        ".git/modules/a/config",
        ".git/modules/a/objects/config",
        "sub/.git/config",
        ".ssh/id_rsa",
        ".ssh/config",
        "app/.env",
        "app/.env.local",
        "app/.env.example",
        "vault/a/b",
        "vault/c.key",
        "node_modules/m/.env",
        "objects/a.key",
        "plain/file",
        "d/vault",
    };
    static const char *const expected[] = {
        "protected directory .git/hooks",
        "protected directory .ssh",
        "protected file .git/config",
        "protected file .git/modules/a/config",
        "protected file sub/.git/config",
        "secret directory vault",
        "secret file .ssh/id_rsa",
        "secret file app/.env",
        "secret file app/.env.local",
        "secret file objects/a.key",
        "secret symlink l.key",
        "socket other app/socket",
        "way directory .git",
        "way directory .git/modules",
        "way directory .git/modules/a",
        "way directory sub/.git",
    };
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(there); i++)
        put_at(there[i]);
    put_link("w/l.key", "plain/file");
    put_link("w/out", "../out");
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "w/app/socket"};
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    struct op_scan_reply reply = scan(100000, 20, &found);
    assert_false(reply.truncated);
    assert_found(&found, expected, ARRAY_LEN(expected));
}

static void limits_are_kept_and_told(void **state)
{
    (void)state;
    BUF_AT_END struct buf all = BUF_INIT(1 << 20);
    BUF_AT_END struct buf near = BUF_INIT(1 << 20);
    BUF_AT_END struct buf few = BUF_INIT(1 << 20);
    static const char *const expected[] = {"secret file .env"};
    put_at("a/b/c/.env");
    put_at(".env");
    assert_true(scan(1000, 2, &near).truncated);
    assert_found(&near, expected, 1);
    assert_false(scan(1000, 3, &all).truncated);
    assert_int_equal(scan(1000, 3, &all).count, 2);
    /* Near the root first, however many there are further down. */
    for (int i = 0; i < 50; i++) {
        FREE_AT_END char *path = mem_format("a/%d.key", i);
        put_at(path);
    }
    assert_true(scan(2, 20, &few).truncated);
    assert_found(&few, expected, 1);
}

static void no_more_than_a_thousand(void **state)
{
    (void)state;
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    for (int i = 0; i < OP_SCAN_MAX; i++) {
        FREE_AT_END char *path = mem_format("%d.key", i);
        put_at(path);
    }
    struct op_scan_reply reply = scan(100000, 20, &found);
    assert_int_equal(reply.count, OP_SCAN_MAX);
    assert_false(reply.truncated);
    put_at("more.key");
    reply = scan(100000, 20, &found);
    assert_int_equal(reply.count, OP_SCAN_MAX);
    assert_true(reply.truncated);
}

static void a_large_tree_takes_a_moment(void **state)
{
    (void)state;
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    for (int i = 0; i < 4000; i++) {
        FREE_AT_END char *path = mem_format("src/%d/file%d.c", i / 20, i);
        put_at(path);
    }
    scan(100000, 20, &found);
    uint64_t start = clock_mono_ns();
    struct op_scan_reply reply = scan(100000, 20, &found);
    uint64_t took = clock_mono_ns() - start;
    assert_int_equal(reply.count, 0);
    assert_false(reply.truncated);
    print_message("# 4,000 files in 200 folders: %llu us\n", (unsigned long long)took / 1000);
    assert_true(took < 2000000000u);
    atomic_store(&cancelled, true);
    union op_request q = {.scan = {.path = STR("."), .max_entries = 10, .max_depth = 5}};
    union op_reply none;
    struct err err;
    assert_int_equal(work_scan(&work, &q, STR(""), &none, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARDED(everything_named_is_found),
        GUARDED(limits_are_kept_and_told),
        GUARDED(no_more_than_a_thousand),
        GUARDED(a_large_tree_takes_a_moment),
    };
    return cmocka_run_group_tests_name("guard_scan", tests, NULL, NULL);
}
