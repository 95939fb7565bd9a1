/* What workers of several gates know of one workspace, through the index that they share. */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "work/guard_saved.h"
#include "work/guard_trees.h"
#include "work_parts.h"

#define WORKERS 3

static struct guard_trees trees[WORKERS];

static void put_at(const char *path)
{
    FREE_AT_END char *copy = mem_format("w/%s", path);
    for (char *slash = copy + 2; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(copy, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    put(copy, "x");
}

static void begin(size_t worker)
{
    guard_trees_init(&trees[worker], open("store", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void end(size_t worker)
{
    close(trees[worker].store);
    guard_trees_done(&trees[worker]);
}

static int shared_set_up(void **state)
{
    static const char rules[] = "P.git\0S.env\0S!open/";
    struct err err;
    if (work_set_up(state) < 0 || mkdir("store", 0700) < 0 || mkdir("w/open", 0700) < 0)
        return -1;
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    for (size_t i = 0; i < WORKERS; i++)
        begin(i);
    return work.guard ? 0 : -1;
}

static int shared_tear_down(void **state)
{
    for (size_t i = 0; i < WORKERS; i++)
        end(i);
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, shared_set_up, shared_tear_down)

struct found {
    bool there;
    bool fresh;
    int64_t vanished;
    int64_t generation;
};

static struct found scan(size_t worker, const char *path, int64_t since, bool settled)
{
    union op_request q = {.scan = {.path = STR("."),
                                   .max_entries = 1000,
                                   .max_guarded = 1000,
                                   .since = since,
                                   .settled = settled}};
    union op_reply reply = {0};
    struct op_guarded entry;
    struct err err;
    work.trees = &trees[worker];
    buf_reset(&work.body, 1 << 16);
    if (work_scan(&work, &q, STR(""), &reply, &err) < 0)
        fail_msg("%s", err.message);
    struct found found = {.vanished = reply.scan.vanished, .generation = reply.scan.generation};
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &entry) > 0;) {
        if (str_is(entry.path, path)) {
            found.there = true;
            found.fresh = entry.fresh;
        }
    }
    return found;
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *d; (d = readdir(dir));)
        count += d->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void a_worker_knows_what_another_one_found(void **state)
{
    (void)state;
    scan(0, "", 0, false);
    scan(1, "", 0, false);
    put_at("q/.env");
    assert_true(scan(1, "q/.env", 0, false).there);
    assert_int_equal(rename("w/q", "w/open/q"), 0);
    assert_true(scan(0, "open/q/.env", 0, false).there);
    assert_true(scan(1, "open/q/.env", 0, false).there);
    assert_true(scan(2, "open/q/.env", 0, false).there);
}

/* Each knows one that the other one never saw at its place; the last to save keeps both. */
static void none_overwrites_what_another_one_knows(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        scan(i, "", 0, false);
    put_at("q/.env");
    scan(0, "", 0, false);
    assert_int_equal(rename("w/q", "w/open/q"), 0);
    put_at("r/.env");
    scan(1, "", 0, false);
    assert_int_equal(rename("w/r", "w/open/r"), 0);
    put_at("z/.env");
    scan(0, "", 0, false);
    put_at("y/.env");
    scan(1, "", 0, false);
    assert_true(scan(2, "open/q/.env", 0, false).there);
    assert_true(scan(2, "open/r/.env", 0, false).there);
}

/* Or a gate would not tell of what its own command has made. */
static void what_another_one_found_is_fresh_all_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        scan(i, "", 0, false);
    put_at("known/.git/HEAD");
    int64_t since = scan(0, "", 0, false).generation;
    put_at("sub/.git/HEAD");
    scan(1, "", 0, false);
    struct found found = scan(0, "sub/.git", since, false);
    assert_true(found.there && found.fresh);
    assert_false(scan(0, "known/.git", since, false).fresh);
}

/* It was there all the time, in a folder that this one could not look into. */
static void what_another_one_found_again_is_not_fresh(void **state)
{
    (void)state;
    put_at("q/.git/HEAD");
    for (size_t i = 0; i < 2; i++)
        scan(i, "", 0, false);
    assert_int_equal(rename("w/q", "elsewhere"), 0);
    int64_t since = scan(0, "", 0, true).generation;
    assert_int_equal(rename("elsewhere", "w/q"), 0);
    put_at("z/.env");
    scan(1, "", 0, false);
    struct found found = scan(0, "q/.git", since, false);
    assert_true(found.there && !found.fresh);
    assert_true(scan(0, "z/.env", since, false).fresh);
}

/* The folder may be where a scan has looked before it was moved there. */
static void a_folder_that_is_gone_is_told_until_nothing_moves(void **state)
{
    (void)state;
    put_at("q/deep/.env");
    assert_int_equal(scan(0, "", 0, false).vanished, 0);
    assert_int_equal(rename("w/q", "elsewhere"), 0);
    assert_int_equal(scan(0, "", 0, false).vanished, 1);
    /* A worker that has just begun has no covers that would have gone along. */
    assert_int_equal(scan(1, "", 0, false).vanished, 1);
    assert_int_equal(rename("elsewhere", "w/q"), 0);
    assert_int_equal(scan(1, "q/deep/.env", 0, false).vanished, 0);
    assert_int_equal(rename("w/q", "elsewhere"), 0);
    assert_int_equal(scan(1, "", 0, true).vanished, 0);
    assert_int_equal(scan(2, "", 0, false).vanished, 0);
}

/* A command cannot take it out of its folder. */
static void a_file_that_its_user_removed_is_not_told(void **state)
{
    (void)state;
    put_at("q/.env");
    scan(0, "", 0, false);
    assert_int_equal(unlink("w/q/.env"), 0);
    assert_int_equal(scan(0, "", 0, false).vanished, 0);
    assert_int_equal(scan(1, "", 0, false).vanished, 0);
}

/* An index that cannot be read takes its place again: it may be all that tells of a secret that was moved. */
static void an_index_that_cannot_be_read_is_kept(void **state)
{
    (void)state;
    static const char damaged[] = "damaged";
    struct guard_root *at = &trees[0].roots[0];
    put_at("q/.env");
    assert_true(scan(0, "q/.env", 0, false).there);
    assert_int_equal(unlink("store/guards-0"), 0);
    put("store/guards-0", damaged);
    for (int i = 0; i < 2; i++) {
        char there[sizeof damaged + 1] = "";
        assert_int_equal(guard_saved_write(at, trees[0].store, 0), -EBADMSG);
        assert_true(at->unsaved);
        FD_AT_END int fd = open("store/guards-0", O_RDONLY | O_CLOEXEC);
        assert_true(fd_read_upto(fd, there, sizeof damaged) >= 0);
        assert_string_equal(there, damaged);
    }
    assert_int_equal(count_entries("store"), 2); /* and the seed */
    assert_int_equal(unlink("store/guards-0"), 0);
    assert_true(scan(0, "q/.env", 0, false).there);
    assert_int_equal(guard_saved_write(at, trees[0].store, 0), 0);
}

static bool is_unsure(bool watched)
{
    union op_request q = {
        .scan = {.path = STR("."), .max_entries = 1000, .max_guarded = 1000, .others = true}};
    union op_reply reply = {0};
    struct err err;
    work.trees = &trees[0];
    /* Watching goes to other folders. */
    FD_AT_END int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int watch = watched; watch >= 0; watch--) {
        q.scan.watch = watch;
        buf_reset(&work.body, 1 << 16);
        if (work_scan(&work, &q, STR(""), &reply, &err) < 0)
            fail_msg("%s", err.message);
    }
    assert_int_equal(fchdir(here), 0);
    return reply.scan.unsure;
}

static void move_for_ever(void)
{
    for (;;) {
        if (rename("w/a/p", "w/b/p") < 0 || rename("w/b/p", "w/a/p") < 0)
            _exit(1);
    }
}

/* Also where what the folder holds is seen at no place, or at two. */
static void folders_that_are_moved_meanwhile_make_it_unsure(void **state)
{
    (void)state;
    put_at("a/p/ml/.git/HEAD");
    put_at("b/x");
    for (int watched = 0; watched < 2; watched++) {
        assert_false(is_unsure(watched));
        pid_t mover = fork();
        assert_true(mover >= 0);
        if (mover == 0)
            move_for_ever();
        bool unsure = false;
        /* On a busy machine it takes a while until both run at the same time. */
        for (int i = 0; i < 20000 && !unsure; i++) {
            usleep(1000);
            unsure = is_unsure(watched);
        }
        kill(mover, SIGKILL);
        assert_int_equal(waitpid(mover, NULL, 0), mover);
        assert_true(unsure);
        assert_true(rename("w/b/p", "w/a/p") == 0 || errno == ENOENT);
        assert_false(is_unsure(watched));
        assert_true(scan(0, "a/p/ml/.git", 0, false).there);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_worker_knows_what_another_one_found),
        CASE(none_overwrites_what_another_one_knows),
        CASE(what_another_one_found_is_fresh_all_the_same),
        CASE(what_another_one_found_again_is_not_fresh),
        CASE(a_folder_that_is_gone_is_told_until_nothing_moves),
        CASE(a_file_that_its_user_removed_is_not_told),
        CASE(an_index_that_cannot_be_read_is_kept),
        CASE(folders_that_are_moved_meanwhile_make_it_unsure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
