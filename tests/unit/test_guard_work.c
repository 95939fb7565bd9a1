/* The worker's operations under rules: links, folders on the way, and names that change meanwhile. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "work_calls.h"

static void use_rules(const char *const *protected, size_t n, const char *const *secret, size_t m)
{
    BUF_AT_END struct buf packed = BUF_INIT(1 << 16);
    struct err err;
    for (size_t i = 0; i < n; i++)
        guard_pack(&packed, GUARD_PROTECTED, (struct str){protected[i], strlen(protected[i])});
    for (size_t i = 0; i < m; i++)
        guard_pack(&packed, GUARD_SECRET, (struct str){secret[i], strlen(secret[i])});
    work.guard = guard_new(buf_str(&packed), &err);
    assert_non_null(work.guard);
    root.guard = work.guard;
}

static int guarded_set_up(void **state)
{
    static const char *const protected[] = {".git/hooks", ".git/config", "/.rc", ".idea/"};
    static const char *const secret[] = {".env", "*.key", "!open.key", ".aws/credentials"};
    if (work_set_up(state) < 0)
        return -1;
    use_rules(protected, ARRAY_LEN(protected), secret, ARRAY_LEN(secret));
    return 0;
}

static int guarded_tear_down(void **state)
{
    guard_unref(TAKE_PTR(work.guard));
    root.guard = NULL;
    return work_tear_down(state);
}

#define GUARDED(name) cmocka_unit_test_setup_teardown(name, guarded_set_up, guarded_tear_down)

static void make_tree(void)
{
    FREE_AT_END char *absolute = mem_format("%s/.git", host);
    assert_int_equal(mkdir("w/.git", 0755) | mkdir("w/.git/hooks", 0755) | mkdir("w/d", 0755), 0);
    assert_int_equal(mkdir("w/.aws", 0755) | mkdir("w/.idea", 0755), 0);
    put("w/.git/config", "x");
    put("w/.git/HEAD", "x");
    put("w/.git/hooks/a", "x");
    put("w/.env", "x");
    put("w/.idea/f", "x");
    put("w/d/a.key", "x");
    put("w/d/open.key", "x");
    put("w/.aws/credentials", "x");
    put("w/plain", "x");
    put_link("w/to_env", ".env");
    put_link("w/to_git", ".git");
    put_link("w/to_git_abs", "/workspace/.git");
    put_link("w/to_git_host", absolute);
    put_link("w/d/up", "..");
    put_link("w/chain", "d/up/to_git");
    put_link("w/l.key", "plain");
    put_link("w/to_new", "d/new.key");
    put_link("w/to_rc", ".rc");
}

static void secrets_stay_so_by_every_name(void **state)
{
    (void)state;
    static const char *const paths[] = {
        ".env",           "to_env", "d/a.key",      "d/../.env",        "d/up/.env",
        "d/up/d/up/.env", "l.key",  "d/up/d/a.key", ".aws/credentials", "d/up/.aws/credentials",
        "d/up/l.key",
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct err err;
        assert_refused(do_read(paths[i], &err), &err, "secret", paths[i]);
        assert_refused(do_edit(paths[i], &err), &err, "secret", paths[i]);
        assert_refused(do_write(paths[i], &err), &err, "secret", paths[i]);
        assert_refused(do_search(paths[i], &err), &err, "secret", paths[i]);
        assert_int_equal(work.body.len, 0);
    }
    struct err err;
    assert_done(do_read("d/open.key", &err), &err, "an exception");
    assert_done(do_read("plain", &err), &err, "plain");
    /* What is not there is missing, not refused. */
    assert_int_equal(do_read("d/.env", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_refused(do_write("to_new", &err), &err, "secret", "behind a dangling link");
    assert_refused(do_move("d/a.key", "d/b", &err), &err, "secret", "moved away");
    assert_refused(do_move("plain", "d/b.key", &err), &err, "secret", "moved there");
    assert_refused(do_move(".aws", "aws", &err), &err, "secret", "with its folder");
    assert_refused(do_delete(".aws", &err), &err, "secret", "deleted with its folder");
    assert_refused(do_delete(".env", &err), &err, "secret", "deleted");
    assert_false(is_there("w/d/new.key") || is_there("w/aws"));
}

static void protected_files_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const paths[] = {
        ".git/config",           "to_git/config", "to_git_abs/config", "to_git_host/config",
        "chain/config",          "chain/hooks/a", ".git/hooks/new",    "d/up/.git/hooks/new/deep",
        "to_git/../.git/config", ".idea/f",
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct err err;
        assert_refused(do_write(paths[i], &err), &err, "protected", paths[i]);
        assert_refused(do_move("plain", paths[i], &err), &err, "protected", paths[i]);
        if (strstr(paths[i], "new"))
            continue;
        assert_done(do_read(paths[i], &err), &err, paths[i]);
        assert_refused(do_edit(paths[i], &err), &err, "protected", paths[i]);
        assert_refused(do_delete(paths[i], &err), &err, "protected", paths[i]);
        assert_refused(do_move(paths[i], "d/mine", &err), &err, "protected", paths[i]);
    }
    struct err err;
    assert_done(do_write("chain/HEAD", &err), &err, "beside");
    assert_refused(do_write("to_rc", &err), &err, "protected", "a link to what is not there");
    assert_done(do_write("d/.rc", &err), &err, "only at the root");
    assert_false(is_there("w/.rc") || is_there("w/.git/hooks/new"));
}

/* A bare repository, or one that was given another name: its settings and hooks run programs all the same. */
static void a_git_directory_is_one_by_any_name(void **state)
{
    (void)state;
    static const char *const protected[] = {".git"};
    static const char *const paths[] = {"bare/config", "bare/hooks/new", "bare/HEAD",
                                        "bare/new/deep", "to_bare/config"};
    guard_unref(TAKE_PTR(work.guard));
    use_rules(protected, ARRAY_LEN(protected), NULL, 0);
    assert_int_equal(mkdir("w/bare", 0755) | mkdir("w/bare/objects", 0755), 0);
    assert_int_equal(mkdir("w/bare/refs", 0755) | mkdir("w/half", 0755), 0);
    put("w/bare/HEAD", "x");
    put("w/bare/config", "x");
    put("w/half/HEAD", "x");
    put("w/plain", "x");
    put_link("w/to_bare", "bare");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct err err;
        assert_refused(do_write(paths[i], &err), &err, "protected", paths[i]);
        assert_refused(do_move("plain", paths[i], &err), &err, "protected", paths[i]);
    }
    struct err err;
    assert_refused(do_edit("bare/config", &err), &err, "protected", "edited");
    assert_refused(do_delete("bare/config", &err), &err, "protected", "deleted");
    assert_refused(do_move("bare/config", "mine", &err), &err, "protected", "moved away");
    assert_done(do_write("half/config", &err), &err, "HEAD alone makes no git directory");
    assert_false(is_there("w/bare/hooks") || is_there("w/bare/new") || is_there("w/mine"));
}

static void the_way_stays_too(void **state)
{
    (void)state;
    struct err err;
    make_tree();
    assert_refused(do_delete(".git", &err), &err, "protected", "deleted");
    assert_refused(do_move(".git", "git", &err), &err, "protected", "moved away");
    assert_refused(do_move("d/up/.git", "git", &err), &err, "protected", "by a link");
    assert_refused(do_delete(".idea", &err), &err, "protected", "a folder of its own");
    assert_refused(do_mkdir("d/.git/hooks", &err), &err, "protected", "made");
    assert_refused(do_mkdir("n/.idea/x", &err), &err, "protected", "a folder in it");
    assert_refused(do_write("n/.git/../.git/hooks/a", &err), &err, "protected", "with dots");
    assert_done(do_write("n/.git/hooks/../../a", &err), &err, "beside what is not there");
    assert_false(is_there("w/n/.git"));
    assert_refused(do_write("d/.git", &err), &err, "protected", "a file in its place");
    assert_refused(do_move("plain", "d/.git", &err), &err, "protected", "a file moved there");
    assert_refused(do_move("to_env", "d/.git", &err), &err, "protected", "a link moved there");
    assert_refused(do_move("d", "n/.git", &err), &err, "protected", "a folder moved there");
    assert_false(is_there("w/d/.git"));
    assert_done(do_mkdir("n/.git", &err), &err, "an empty one");
    assert_done(do_write("n/.git/info/exclude", &err), &err, "what git only reads");
    assert_done(do_move("n", "m", &err), &err, "the folder around it");
    assert_done(do_delete("m", &err), &err, "and away");
    /* A link named so is gone into, but nothing is changed through it. */
    put_link("w/d/.git", "../.git");
    assert_done(do_read("d/.git/HEAD", &err), &err, "through a link");
    assert_refused(do_write("d/.git/HEAD", &err), &err, "protected", "through a link");
    assert_refused(do_delete("d/.git", &err), &err, "protected", "the link");
}

static void refused_writes_leave_nothing_behind(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/b/.git/hooks/c", "a/.env", "a/b/c.key", "a/../b/.env/d"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct err err;
        assert_int_equal(do_write(paths[i], &err), -1);
        assert_int_equal(err.code, ERR_PERMISSION_DENIED);
        assert_false(is_there("w/a"));
    }
}

static void searches_pass_secrets_by(void **state)
{
    (void)state;
    union op_request q = {
        .search = {.path = STR("."), .pattern = STR("x"), .hidden = true, .max_matches = 100}};
    union op_reply reply = {0};
    struct err err;
    make_tree();
    assert_int_equal(work_search(&work, &q, STR(""), &reply, &err), 0);
    /* .idea/f, d/open.key, plain; .git is not searched, links are not followed. */
    assert_int_equal(reply.search.matches, 3);
    assert_int_equal(reply.search.unreadable, 3);
    buf_reset(&work.body, 0);
    /* From a folder that a link leads to. */
    put_link("w/home", ".aws");
    q.search.path = STR("home");
    assert_int_equal(work_search(&work, &q, STR(""), &reply, &err), 0);
    assert_int_equal(reply.search.matches, 0);
    assert_int_equal(reply.search.unreadable, 1);
    assert_int_equal(work.body.len, 0);
}

static void sweeping_knows_no_rules(void **state)
{
    (void)state;
    union op_request q = {.sweep = {.path = STR(".git/hooks/x"), .tag = STR("t")}};
    union op_reply reply = {0};
    struct err err;
    make_tree();
    put("w/.git/hooks/" OP_TEMP_PREFIX "t-1", "x");
    assert_int_equal(work_sweep(&work, &q, STR(""), &reply, &err), 0);
    assert_int_equal(reply.sweep.removed, 1);
}

/* Someone exchanges a link and a folder all the time; what is read and written is never the secret. */

static atomic_bool stop;

static void exchange(const char *a, const char *b)
{
    renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void *keep_exchanging(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        exchange("w/name", "w/link");
        exchange("w/dir", "w/dirlink");
    }
    return NULL;
}

static void a_link_exchanged_meanwhile(void **state)
{
    (void)state;
    pthread_t thread;
    int done = 0;
    int refused = 0;
    put("w/.env", "secret");
    put("w/name", "plain");
    put_link("w/link", ".env");
    assert_int_equal(mkdir("w/.git", 0755) | mkdir("w/.git/hooks", 0755) | mkdir("w/dir", 0755), 0);
    put_link("w/dirlink", ".git/hooks");
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_exchanging, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        struct err err;
        const char *path = i & 1 ? "name" : "link";
        if (do_read(path, &err) == 0) {
            done++;
            assert_int_equal(work.body.len, 5);
            assert_memory_equal(work.body.data, "plain", 5);
        } else {
            refused += err.code == ERR_PERMISSION_DENIED;
        }
        if (i % 8 == 0)
            do_write(i & 8 ? "dir/made" : "dirlink/made", &err);
        if (is_there("w/.git/hooks/made"))
            break;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_false(is_there("w/.git/hooks/made"));
    /* Both happened, or nothing was tested. */
    assert_true(done > 0 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARDED(secrets_stay_so_by_every_name),
        GUARDED(protected_files_stay_as_they_are),
        GUARDED(a_git_directory_is_one_by_any_name),
        GUARDED(the_way_stays_too),
        GUARDED(refused_writes_leave_nothing_behind),
        GUARDED(searches_pass_secrets_by),
        GUARDED(sweeping_knows_no_rules),
        GUARDED(a_link_exchanged_meanwhile),
    };
    return cmocka_run_group_tests_name("guard_work", tests, NULL, NULL);
}
