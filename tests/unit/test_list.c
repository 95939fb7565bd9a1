/* Listing folders, and all that is in them. */
#include <cmocka.h>
#include <errno.h>
#include <sys/fsuid.h>

#include "work/temps.h"
#include "work_parts.h"

#define NAMES_MAX 100000

static char names[NAMES_MAX];
static struct op_list_reply listed;

/* The names of a listing with spaces between them, folders with a slash, links with an @. */
static int list(struct op_list_request q, struct err *err)
{
    union op_request request = {.list = q};
    union op_reply reply = {0};
    *err = (struct err){0};
    buf_reset(&work.body, SIZE_MAX);
    if (!q.path.p)
        request.list.path = STR(".");
    if (!q.max_entries)
        request.list.max_entries = 1000;
    if (work_list(&work, &request, (struct str){"", 0}, &reply, err) < 0)
        return -1;
    listed = reply.list;
    struct str rest = buf_str(&work.body);
    size_t n = 0;
    int64_t count = 0;
    names[0] = '\0';
    for (struct op_entry entry; op_entry_next(&rest, &entry) > 0; count++) {
        static const char *const marks[] = {"", "/", "@", "?"};
        n += (size_t)snprintf(names + n, NAMES_MAX - n, "%s%.*s%s", n ? " " : "", (int)entry.name.n,
                              entry.name.p, marks[entry.type]);
    }
    assert_int_equal(rest.n, 0);
    assert_int_equal(count, listed.count);
    return 0;
}

static void expect(struct op_list_request q, const char *expected, bool truncated)
{
    struct err err;
    if (list(q, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(names, expected);
    assert_int_equal(listed.truncated, truncated);
}

static void make_tree(void)
{
    assert_int_equal(mkdir("w/b", 0755) | mkdir("w/b/z", 0755) | mkdir("w/.h", 0755) |
                         mkdir("w/empty", 0755) | mkfifo("w/b/p", 0600),
                     0);
    put("w/a", "A");
    put("w/b.c", "");
    put("w/b/x.c", "");
    put("w/b/z/x.c", "");
    put("w/b/.k", "");
    put("w/.h/i", "");
    put_link("w/l", "b");
    put_link("w/b/up", "..");
    put_link("w/out", "../out");
}

#define RECURSIVE .recursive = true

static void one_folder(void **state)
{
    (void)state;
    make_tree();
    expect((struct op_list_request){0}, "a b/ b.c empty/ l@ out@", false);
    expect((struct op_list_request){.hidden = true}, ".h/ a b/ b.c empty/ l@ out@", false);
    expect((struct op_list_request){.skip_symlinks = true}, "a b/ b.c empty/", false);
    expect((struct op_list_request){.path = STR("b")}, "p? up@ x.c z/", false);
    expect((struct op_list_request){.path = STR("l/z")}, "x.c", false);
    expect((struct op_list_request){.path = STR("empty")}, "", false);
}

/* Only a name that a call has at the moment is left out, and only in the folder where it has it. */
static void temporary_names(void **state)
{
    (void)state;
    FD_AT_END int dir = open("w", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[100];
    struct temp temp;
    assert_int_equal(mkdir("w/.sgt-t1-d0", 0755) | mkdir("w/.sgt-tree", 0755), 0);
    put("w/.sgt-t1-0", "left behind");
    put("w/.sgt-", "");
    put("w/.sgt-t1-d0/a", "");
    put("w/.sgt-tree/b", "");
    const char *all = ".sgt- .sgt-t1-0 .sgt-t1-d0/ .sgt-t1-d0/a .sgt-tree/ .sgt-tree/b";
    expect((struct op_list_request){RECURSIVE, .hidden = true}, all, false);
    temp_begin(&temp, dir, STR("t2"), TEMP_FILE, 0);
    snprintf(path, sizeof path, "w/%s", temp.name);
    put(path, "half a write");
    expect((struct op_list_request){RECURSIVE, .hidden = true}, all, false);
    snprintf(path, sizeof path, "w/.sgt-tree/%s", temp.name);
    put(path, "another folder's");
    assert_int_equal(list((struct op_list_request){RECURSIVE, .hidden = true}, &(struct err){0}),
                     0);
    assert_non_null(strstr(names, path + 2));
    temp_end(&temp);
    assert_int_equal(list((struct op_list_request){.hidden = true}, &(struct err){0}), 0);
    assert_non_null(strstr(names, temp.name));
}

/* A folder's own come right behind it, sorted by their names; links are not gone into. */
static void all_that_is_inside(void **state)
{
    (void)state;
    make_tree();
    expect((struct op_list_request){RECURSIVE},
           "a b/ b/p? b/up@ b/x.c b/z/ b/z/x.c b.c empty/ l@ out@", false);
    expect((struct op_list_request){RECURSIVE, .hidden = true},
           ".h/ .h/i a b/ b/.k b/p? b/up@ b/x.c b/z/ b/z/x.c b.c empty/ l@ out@", false);
    expect((struct op_list_request){RECURSIVE, .path = STR("b"), .skip_symlinks = true},
           "p? x.c z/ z/x.c", false);
}

static void patterns(void **state)
{
    (void)state;
    make_tree();
    expect((struct op_list_request){.glob = STR("*.c")}, "b.c", false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("*.c")}, "b.c", false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("**/*.c")}, "b/x.c b/z/x.c b.c", false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("b/*")}, "b/p? b/up@ b/x.c b/z/", false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("**/")}, "b/ b/z/ empty/", false);
    expect((struct op_list_request){RECURSIVE, .path = STR("b"), .glob = STR("z/*")}, "z/x.c",
           false);
    expect((struct op_list_request){.glob = STR("nothing*")}, "", false);
}

static void what_is_excluded(void **state)
{
    (void)state;
    make_tree();
    expect((struct op_list_request){RECURSIVE, .exclude = STR("b")}, "a b.c empty/ l@ out@", false);
    expect((struct op_list_request){RECURSIVE, .exclude = STR("z")},
           "a b/ b/p? b/up@ b/x.c b.c empty/ l@ out@", false);
    expect((struct op_list_request){RECURSIVE, .exclude = STR("{*.c,l,out,p,up}")},
           "a b/ b/z/ empty/", false);
    expect((struct op_list_request){RECURSIVE, .exclude = STR("b/z/*")},
           "a b/ b/p? b/up@ b/x.c b/z/ b.c empty/ l@ out@", false);
    /* Folders only: a file of that name stays. */
    expect((struct op_list_request){RECURSIVE, .exclude = STR("{a,empty,b}/")}, "a b.c l@ out@",
           false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("**/*.c"), .exclude = STR("z")},
           "b/x.c b.c", false);
}

static void there_is_a_most(void **state)
{
    (void)state;
    make_tree();
    expect((struct op_list_request){.max_entries = 6}, "a b/ b.c empty/ l@ out@", false);
    expect((struct op_list_request){.max_entries = 5}, "a b/ b.c empty/ l@", true);
    expect((struct op_list_request){.max_entries = 1}, "a", true);
    expect((struct op_list_request){RECURSIVE, .max_entries = 4}, "a b/ b/p? b/up@", true);
    expect((struct op_list_request){RECURSIVE, .max_entries = 11},
           "a b/ b/p? b/up@ b/x.c b/z/ b/z/x.c b.c empty/ l@ out@", false);
    /* Only what matches is counted. */
    expect((struct op_list_request){RECURSIVE, .glob = STR("**/*.c"), .max_entries = 3},
           "b/x.c b/z/x.c b.c", false);
    expect((struct op_list_request){RECURSIVE, .glob = STR("**/*.c"), .max_entries = 2},
           "b/x.c b/z/x.c", true);
}

static void there_is_a_deepest(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(mkdir("w/x", 0755), 0);
    put_deep("w/x", 150);
    assert_int_equal(list((struct op_list_request){RECURSIVE}, &err), 0);
    assert_int_equal(listed.count, 151);
    assert_false(listed.truncated);
    assert_int_equal(mkdir("w/y", 0755), 0);
    put_deep("w/y", 300);
    assert_int_equal(list((struct op_list_request){RECURSIVE, .path = STR("y")}, &err), 0);
    assert_true(listed.truncated && listed.count >= 190 && listed.count < 300);
    /* What comes behind it is cut off too, and the answer says so. */
    assert_int_equal(list((struct op_list_request){RECURSIVE, .exclude = STR("d")}, &err), 0);
    assert_string_equal(names, "x/ y/");
    assert_false(listed.truncated);
}

/* A folder that cannot be opened is named and left alone. */
static void what_cannot_be_opened_is_passed_by(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/a", 0755) | mkdir("w/b", 0), 0);
    put("w/a/x", "");
    /* To root nothing is closed. */
    uid_t me = (uid_t)setfsuid(65534);
    expect((struct op_list_request){RECURSIVE}, "a/ a/x b/", false);
    setfsuid(me);
    assert_int_equal(chmod("w/b", 0755), 0);
}

static void what_is_refused(void **state)
{
    (void)state;
    make_tree();
    struct err err;
    assert_int_equal(list((struct op_list_request){.path = STR("a")}, &err), -1);
    assert_int_equal(err.code, ERR_NOT_A_DIRECTORY);
    assert_int_equal(list((struct op_list_request){.path = STR("nope")}, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(list((struct op_list_request){.path = STR("out")}, &err), -1);
    assert_int_equal(err.code, ERR_SYMLINK_OUTSIDE_WORKSPACE);
    assert_int_equal(list((struct op_list_request){.path = STR("l"), .no_links = true}, &err), -1);
    assert_int_equal(err.code, ERR_PERMISSION_DENIED);
    assert_int_equal(list((struct op_list_request){.glob = STR("{a")}, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_PATTERN);
    atomic_store(&cancelled, true);
    assert_int_equal(list((struct op_list_request){RECURSIVE}, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(one_folder),
        WORK_TEST(temporary_names),
        WORK_TEST(all_that_is_inside),
        WORK_TEST(patterns),
        WORK_TEST(what_is_excluded),
        WORK_TEST(there_is_a_most),
        WORK_TEST(there_is_a_deepest),
        WORK_TEST(what_is_refused),
        WORK_TEST(what_cannot_be_opened_is_passed_by),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
