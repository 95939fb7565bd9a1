/* What a scan tells to be new when it compares with an older index. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/fd.h"
#include "work/guard_trees.h"
#include "work_parts.h"

static struct guard_trees trees;
static const char some_rules[] = "P.git\0P.envrc\0S/config/token";
static const char other_rules[] = "P.git\0P.envrc\0P.later\0S/config/token";

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

static void use_rules(const char *rules, size_t n)
{
    struct err err;
    guard_unref(work.guard);
    work.guard = guard_new((struct str){rules, n}, &err);
    assert_non_null(work.guard);
}

/* As another worker would begin, with what this one has saved. */
static void start_anew(void)
{
    int store = trees.store;
    guard_trees_done(&trees);
    guard_trees_init(&trees, store);
}

static int compare_set_up(void **state)
{
    if (work_set_up(state) < 0 || mkdir("store", 0700) < 0)
        return -1;
    use_rules(some_rules, sizeof some_rules);
    guard_trees_init(&trees, open("store", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    work.trees = &trees;
    return 0;
}

static int compare_tear_down(void **state)
{
    close(trees.store);
    guard_trees_done(&trees);
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, compare_set_up, compare_tear_down)

/* The fresh ones, in their order, a space behind each. */
static bool scan(struct str index, int64_t index_ns, struct buf *ret)
{
    union op_request q = {
        .scan = {.path = STR("."), .max_entries = 1000, .max_guarded = 1000, .index_ns = index_ns}};
    union op_reply reply = {0};
    struct op_guarded found;
    struct err err;
    buf_reset(&work.body, 1 << 16);
    buf_reset(ret, 1 << 16);
    if (work_scan(&work, &q, index, &reply, &err) < 0)
        fail_msg("%s", err.message);
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &found) > 0;) {
        if (found.fresh)
            buf_addf(ret, "%.*s ", (int)found.path.n, found.path.p);
    }
    return reply.scan.compared;
}

static void assert_fresh(struct str index, int64_t index_ns, bool compared, const char *expected)
{
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    assert_int_equal(scan(index, index_ns, &found), compared);
    assert_string_equal(buf_text(&found), expected);
}

static void read_saved(struct buf *ret_index)
{
    FD_AT_END int fd = open("store/guards-0", O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(buf_reserve(ret_index, (size_t)st.st_size), 0);
    assert_int_equal(fd_read_upto(fd, ret_index->data, (size_t)st.st_size), st.st_size);
    ret_index->len = (size_t)st.st_size;
}

/* Files have the time of the clock's last tick. */
static int64_t next_tick(void)
{
    int64_t then = clock_file_ns();
    for (int64_t last = then; then == last;)
        then = clock_file_ns();
    return then;
}

/* An index of a workspace with a repository, a bare one and a file; then a command makes others, and a scan beside it has
 * seen them. */
static int64_t make_more(struct buf *ret_index)
{
    BUF_AT_END struct buf unused = BUF_INIT(1 << 20);
    put_at("old/.git/config");
    put_at("old/.envrc");
    put_at("bare/HEAD");
    put_at("bare/objects/");
    put_at("bare/refs/");
    scan(STR(""), 0, &unused);
    read_saved(ret_index);
    int64_t then = next_tick();
    put_at(".git/config");
    put_at("new/.envrc");
    put_at("second/HEAD");
    put_at("second/objects/");
    put_at("second/refs/");
    assert_int_equal(rename("w/old", "w/moved"), 0);
    put_at("config/token");
    scan(STR(""), 0, &unused);
    return then;
}

static void what_an_older_index_does_not_know_is_new(void **state)
{
    (void)state;
    static const char expected[] = ".git config/token new/.envrc second ";
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    int64_t then = make_more(&index);
    start_anew();
    assert_fresh(buf_str(&index), then, true, expected);
    /* It stays so for the scan behind the next command. */
    put_at("plain");
    assert_fresh(STR(""), 0, false, expected);
    start_anew();
    assert_fresh(buf_str(&index), then, true, expected);
}

static bool is_replaced(const char *path)
{
    struct op_guarded found;
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &found) > 0;) {
        if (str_is(found.path, path))
            return found.replaced && !found.fresh;
    }
    return false;
}

/* Its place was kept, because something might only have been moved. */
static void what_took_the_place_of_something_lost_is_told_to_have(void **state)
{
    (void)state;
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    BUF_AT_END struct buf unused = BUF_INIT(1 << 20);
    put_at("sub/.envrc");
    scan(STR(""), 0, &unused);
    put_at(".git/config");
    assert_int_equal(unlink("w/sub/.envrc"), 0);
    assert_int_equal(rmdir("w/sub"), 0);
    scan(STR(""), 0, &unused);
    read_saved(&index);
    int64_t then = next_tick();
    put_at("sub/.envrc");
    scan(STR(""), 0, &unused);
    start_anew();
    assert_fresh(buf_str(&index), then, true, "");
    assert_true(is_replaced("sub/.envrc"));
    assert_false(is_replaced(".git"));
    /* It stays so for the scan behind the next command. */
    assert_fresh(STR(""), 0, false, "");
    assert_true(is_replaced("sub/.envrc"));
}

static bool is_found(const char *path)
{
    struct op_guarded found;
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &found) > 0;) {
        if (str_is(found.path, path))
            return true;
    }
    return false;
}

static void what_only_the_newer_index_knows_is_still_guarded(void **state)
{
    (void)state;
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    BUF_AT_END struct buf unused = BUF_INIT(1 << 20);
    int64_t then = make_more(&index);
    /* No rule names it there. */
    assert_int_equal(rename("w/config", "w/elsewhere"), 0);
    start_anew();
    scan(buf_str(&index), then, &unused);
    assert_true(is_found("elsewhere/token"));
}

static void without_a_usable_index_nothing_is_told_to_be_new(void **state)
{
    (void)state;
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    int64_t then = make_more(&index);
    start_anew();
    assert_fresh(STR(""), then, false, "");
    start_anew();
    assert_fresh((struct str){index.data, index.len - 1}, then, false, "");
    start_anew();
    index.data[index.len / 2] ^= 1;
    assert_fresh(buf_str(&index), then, false, "");
}

static void an_index_of_another_folder_is_not_used(void **state)
{
    (void)state;
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    int64_t then = make_more(&index);
    start_anew();
    FD_AT_END int fd = root.fd;
    root.fd = open("w/moved", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_fresh(buf_str(&index), then, false, "");
    close(root.fd);
    root.fd = TAKE_FD(fd);
}

static void with_other_rules_what_is_new_was_also_born_since(void **state)
{
    (void)state;
    BUF_AT_END struct buf index = BUF_INIT(1 << 20);
    put_at("older/.later");
    /* Files may have a time a little ahead of the clock's last tick. */
    for (int64_t made = clock_file_ns(); clock_file_ns() < made + 30000000;)
        continue;
    int64_t then = make_more(&index);
    put_at("new/.later");
    use_rules(other_rules, sizeof other_rules);
    struct statx st;
    assert_int_equal(statx(AT_FDCWD, "w/new", 0, STATX_BTIME, &st), 0);
    if (!(st.stx_mask & STATX_BTIME))
        skip();
    start_anew();
    assert_fresh(buf_str(&index), then, false, ".git config/token new/.envrc new/.later second ");
}

/* On a file system that keeps whole seconds a folder can change twice in one of them. */
static void a_time_that_may_hide_a_change_is_new(void **state)
{
    static const struct {
        struct tree_time changed;
        struct timespec looked;
        bool is_new;
    } times[] = {
        {{100, 5000000}, {100, 6000000}, true},
        {{100, 5000000}, {100, 26000000}, false},
        {{100, 5000000}, {101, 0}, false},
        {{100, 0}, {100, 900000000}, true},
        {{100, 0}, {101, 999999999}, true},
        {{100, 0}, {102, 0}, false},
        {{100, 0}, {1000000, 0}, false},
        {{0, 0}, {1000000, 0}, true},
        {{200, 1}, {100, 0}, true},
        /* More than 63 bits of nanoseconds away. */
        {{9223372137, 1}, {100, 0}, true},
        {{INT64_MAX, 1}, {100, 0}, true},
        {{-9223372037, 1}, {100, 0}, false},
        {{INT64_MIN, 1}, {100, 0}, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        assert_int_equal(tree_time_is_new(&times[i].changed, &times[i].looked), times[i].is_new);
    assert_int_equal(tree_time_latest(3, 4), 3000000004);
    assert_int_equal(tree_time_latest(3, 0), 4999999999);
    assert_true(tree_time_latest(9223372036, 999999999) == INT64_MAX);
    assert_true(tree_time_latest(INT64_MAX, 1) == INT64_MAX);
    assert_true(tree_time_latest(INT64_MIN, 1) == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_an_older_index_does_not_know_is_new),
        CASE(what_took_the_place_of_something_lost_is_told_to_have),
        CASE(what_only_the_newer_index_knows_is_still_guarded),
        CASE(without_a_usable_index_nothing_is_told_to_be_new),
        CASE(an_index_of_another_folder_is_not_used),
        CASE(with_other_rules_what_is_new_was_also_born_since),
        CASE(a_time_that_may_hide_a_change_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
