/* Calls that a rule about paths decided over: what is opened is what the path names, or nothing. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "work_calls.h"

static int named_set_up(void **state)
{
    int r = work_set_up(state);
    work.as_named = true;
    return r;
}

#define NAMED(name) cmocka_unit_test_setup_teardown(name, named_set_up, work_tear_down)

static int do_list(const char *path, struct err *err)
{
    union op_request q = {.list = {.path = text(path), .recursive = true, .max_entries = 100}};
    return run(OP_LIST, &q, "", err);
}

static int do_stat(const char *path, bool no_links, struct err *err)
{
    union op_request q = {.stat = {.path = text(path), .no_links = no_links}};
    return run(OP_STAT, &q, "", err);
}

static int do_follow_stat(const char *path, struct err *err)
{
    return do_stat(path, false, err);
}

static int do_frontmatter(const char *path, struct err *err)
{
    union op_request q = {.change = {.path = text(path), .tag = STR("t"), .max_bytes = 1 << 20}};
    return run(OP_FRONTMATTER, &q, "{\"a\":{\"set\":1}}", err);
}

static int do_move_there(const char *path, struct err *err)
{
    return do_move("plain", path, err);
}

static void make_tree(void)
{
    FREE_AT_END char *on_host = mem_format("%s/d", host);
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/e", 0755), 0);
    put("w/plain", "x");
    put("w/d/f", "x");
    put("w/d/e/f", "---\nk: x\n---\n");
    put_link("w/to_f", "d/f");
    put_link("w/to_d", "d");
    put_link("w/d/e/up", "../..");
    put_link("w/in", "/workspace/d");
    put_link("w/host", on_host);
    put_link("w/chain", "to_d/e");
    put_link("w/nowhere", "d/new");
    put_link("w/out", "../out");
    put_link("w/self", "self");
    put_link("w/here", ".");
}

typedef int (*call_fn)(const char *path, struct err *err);

/* Each of them opens what is at the end of the path, or makes it. */
static const struct {
    const char *name;
    call_fn call;
} following[] = {
    {"read", do_read},   {"write", do_write},     {"edit", do_edit},
    {"list", do_list},   {"search", do_search},   {"stat", do_follow_stat},
    {"mkdir", do_mkdir}, {"move", do_move_there}, {"frontmatter", do_frontmatter},
};

static void a_link_on_the_way_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "to_f",    "to_d/f",   "to_d/e",   "d/e/up/plain", "in/f",           "host/f",
        "chain/f", "nowhere",  "here/d/f", "here",         "to_d/new",       "to_d/no/new",
        "d//f",    "d/../d/f", "./d/f",    "to_f/x",       "chain/up/plain",
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        for (size_t k = 0; k < ARRAY_LEN(following); k++) {
            struct err err;
            FREE_AT_END char *what = mem_format("%s %s", following[k].name, paths[i]);
            assert_refused(following[k].call(paths[i], &err), &err, "other_path", what);
            assert_int_equal(work.body.len, 0);
        }
    }
    /* Nothing was made on the way, nothing changed. */
    assert_false(is_there("w/d/new") || is_there("w/d/no"));
    char now[64];
    struct err err;
    assert_int_equal(read_through("d/f", now, &err), 0);
    assert_string_equal(now, "x");
    assert_true(is_there("w/plain"));
}

static void the_message_says_what_to_do(void **state)
{
    (void)state;
    struct err err;
    make_tree();
    assert_int_equal(do_read("chain/f", &err), -1);
    assert_string_equal(err.message, "`chain/f` is really `d/e/f`, and a rule about paths decides "
                                     "here: use that path itself");
    assert_int_equal(do_write("nowhere", &err), -1);
    assert_string_equal(err.message, "`nowhere` is really `d/new`, and a rule about paths decides "
                                     "here: use that path itself");
    assert_int_equal(do_delete("to_d/f", &err), -1);
    assert_string_equal(err.message, "`to_d` is really `d`, and a rule about paths decides here: "
                                     "use that path itself");
    /* Whether something is there is not told either. */
    assert_int_equal(do_read("to_d/no/file", &err), -1);
    assert_string_equal(err.message, "`to_d/no/file` leads through a symbolic link, and a rule "
                                     "about paths decides here: use the path that it leads to");
    assert_int_equal(do_read("out/secret", &err), -1);
    assert_int_equal(err.code, ERR_SYMLINK_OUTSIDE_WORKSPACE);
    assert_int_equal(do_read("self", &err), -1);
    assert_string_equal(err.reason, "link_loop");
}

static void what_it_names_is_used(void **state)
{
    (void)state;
    struct err err;
    make_tree();
    assert_done(do_read("d/f", &err), &err, "read");
    assert_done(do_edit("d/f", &err), &err, "edit");
    assert_done(do_frontmatter("d/e/f", &err), &err, "frontmatter");
    assert_done(do_write("new/er/file", &err), &err, "write");
    assert_done(do_mkdir("made/so", &err), &err, "mkdir");
    assert_done(do_list(".", &err), &err, "list");
    assert_done(do_list("d", &err), &err, "list a folder");
    assert_done(do_search(".", &err), &err, "search");
    assert_done(do_search("d/f", &err), &err, "search a file");
    assert_done(do_stat("d/f", false, &err), &err, "stat");
    assert_done(do_move("d/f", "made/f", &err), &err, "move");
    assert_done(do_delete("made", &err), &err, "delete");
    assert_int_equal(do_read("d/f", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* A link at the end is what the path names, where it is not followed. */
static void a_link_itself_is_used(void **state)
{
    (void)state;
    struct err err;
    make_tree();
    assert_done(do_stat("to_f", true, &err), &err, "stat");
    assert_done(do_move("to_f", "d/moved", &err), &err, "move");
    assert_done(do_delete("d/moved", &err), &err, "delete");
    assert_done(do_delete("to_d", &err), &err, "delete one to a folder");
    assert_true(is_there("w/d/f"));
    assert_refused(do_delete("in/f", &err), &err, "other_path", "delete behind one");
    assert_refused(do_move("in/f", "d/g", &err), &err, "other_path", "move from behind one");
    assert_refused(do_stat("in/f", false, &err), &err, "other_path", "stat behind one");
}

/* The root may be reached through any links on the host, and hold a link back to itself. */
static void the_way_to_the_root_does_not_count(void **state)
{
    (void)state;
    struct err err;
    make_tree();
    put_link("alias", "w");
    close(root.fd);
    root.fd = open("alias", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_done(do_read("d/f", &err), &err, "read");
    assert_done(do_write("d/new", &err), &err, "write");
}

/* Someone exchanges a file and a link, a folder and a link, all the time. */

static atomic_bool stop;

static void *keep_exchanging(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        renameat2(AT_FDCWD, "w/name", AT_FDCWD, "w/link", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "w/dir", AT_FDCWD, "w/dirlink", RENAME_EXCHANGE);
    }
    return NULL;
}

static bool is_plain_text(struct str body)
{
    return body.n == 5 && memcmp(body.p, "plain", 5) == 0;
}

static void a_link_exchanged_meanwhile(void **state)
{
    (void)state;
    pthread_t thread;
    int done = 0;
    int refused = 0;
    int leaks = 0;
    assert_int_equal(mkdir("w/private", 0755) | mkdir("w/dir", 0755), 0);
    put("w/private/file", "private");
    put("w/name", "plain");
    put("w/dir/file", "plain");
    put_link("w/link", "private/file");
    put_link("w/dirlink", "private");
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_exchanging, NULL), 0);
    for (int i = 0; i < 20000 && leaks == 0; i++) {
        static const char *const paths[] = {"name", "link", "dir/file", "dirlink/file"};
        static const char *const made[] = {"dir/made", "dirlink/made", "dir/in/made",
                                           "dirlink/in/x"};
        struct err err;
        if (do_read(paths[i % 4], &err) == 0) {
            done++;
            leaks += !is_plain_text(buf_str(&work.body));
        } else {
            refused += strcmp(err.reason, "other_path") == 0;
        }
        if (i % 8 == 0)
            do_write(made[i / 8 % 4], &err);
        if (i % 16 == 4)
            do_delete(made[i / 16 % 4], &err);
        leaks += is_there("w/private/made") || is_there("w/private/in") ||
                 !is_there("w/private/file");
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(leaks, 0);
    /* Both happened, or nothing was tested. */
    assert_true(done > 0 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAMED(a_link_on_the_way_is_refused),
        NAMED(the_message_says_what_to_do),
        NAMED(what_it_names_is_used),
        NAMED(a_link_itself_is_used),
        NAMED(the_way_to_the_root_does_not_count),
        NAMED(a_link_exchanged_meanwhile),
    };
    return cmocka_run_group_tests_name("as_named", tests, NULL, NULL);
}
