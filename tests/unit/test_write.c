/* Writing, moving and making folders: what is refused leaves nothing behind, and locks between calls. */
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>

#include "work/folder_lock.h"
#include "work/temps.h"
#include "work_calls.h"

static const char *const too_long =
    "n/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";

/* How many entries there are in a folder. */
static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = -2;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int write_as(const char *path, struct op_write_request q, const char *content,
                    struct err *err)
{
    q.path = text(path);
    q.tag = STR("t");
    q.max_bytes = q.max_bytes ? q.max_bytes : 1 << 20;
    return run(OP_WRITE, &(union op_request){.write = q}, content, err);
}

static void a_refused_write_leaves_nothing(void **state)
{
    (void)state;
    const struct {
        const char *path;
        struct op_write_request q;
        enum err_code code;
    } cases[] = {
        {"foo/..", {0}, ERR_NOT_A_FILE},
        {"foo/.", {0}, ERR_NOT_A_FILE},
        {"foo/bar/..", {0}, ERR_NOT_A_FILE},
        {"foo/bar/../..", {0}, ERR_NOT_A_FILE},
        {"foo/../..", {0}, ERR_SYMLINK_OUTSIDE_WORKSPACE},
        {"n/d/x",
         {.if_match = STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")},
         ERR_PRECONDITION_FAILED},
        {"n/d/x", {.max_bytes = 2}, ERR_TOO_LARGE},
        {"n/d/x", {.max_bytes = 2, .append = true}, ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        if (write_as(cases[i].path, cases[i].q, "new", &err) == 0)
            fail_msg("%s was written", cases[i].path);
        if (err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].path, err.message);
        if (entries("w") != 0)
            fail_msg("%s left something", cases[i].path);
    }
    struct err err;
    assert_int_equal(do_write(too_long, &err), -1);
    assert_int_equal(do_mkdir(too_long, &err), -1);
    assert_int_equal(entries("w"), 0);
}

static void what_cancels_out_is_not_made(void **state)
{
    (void)state;
    struct err err;
    assert_done(do_write("a/b/../c", &err), &err, "a/b/../c");
    assert_true(is_there("w/a/c"));
    assert_int_equal(entries("w/a"), 1);
    assert_done(do_write("x/../y/../z", &err), &err, "x/../y/../z");
    assert_true(is_there("w/z"));
    assert_int_equal(entries("w"), 2);
    /* Beyond what is missing a link is a link. */
    put_link("w/l", "a");
    assert_done(do_write("none/../l/d", &err), &err, "through a link");
    assert_true(is_there("w/a/d") && !is_there("w/none"));
    assert_done(do_mkdir("m/n/../o", &err), &err, "folders");
    assert_true(is_there("w/m/o") && !is_there("w/m/n"));
}

/* The last step fails where the folders could be made: the file system takes no longer names. */
static void a_write_that_fails_late_removes_its_folders(void **state)
{
    (void)state;
    struct err err;
    put("w/plain", "x");
    assert_int_equal(mkdir("w/d", 0755), 0);
    /* A folder cannot take a file's place. */
    assert_int_equal(do_move("none", "n/m/x", &err), -1);
    assert_int_equal(do_move("d", "d/n/m", &err), -1);
    assert_int_equal(do_move("plain", "n/../d", &err), -1);
    assert_int_equal(do_move("plain", too_long, &err), -1);
    assert_int_equal(do_mkdir("plain/n/m", &err), -1);
    atomic_store(&cancelled, true);
    assert_int_equal(do_write("n/m/x", &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    atomic_store(&cancelled, false);
    assert_int_equal(entries("w"), 2);
    assert_int_equal(entries("w/d"), 0);
    /* Folders that were there stay. */
    atomic_store(&cancelled, true);
    assert_int_equal(do_write("d/m/x", &err), -1);
    atomic_store(&cancelled, false);
    assert_true(is_there("w/d"));
    assert_int_equal(entries("w/d"), 0);
}

static void only_what_we_made_is_swept(void **state)
{
    (void)state;
    static const char *const kept[] = {".sgt-t",       ".sgt-t-",  ".sgt-t-x",    ".sgt-t-0x",
                                       ".sgt-t-1-2-3", ".sgt-u-0", ".sgt-t-1.txt"};
    union op_request q = {.sweep = {.path = STR("x"), .tag = STR("t")}};
    union op_reply reply = {0};
    struct err err;
    char path[100];
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        snprintf(path, sizeof path, "w/%s", kept[i]);
        put(path, "");
    }
    /* A folder is never the content of a file, nor is a file a folder that was being removed. */
    assert_int_equal(mkdir("w/.sgt-t-1-7", 0755) | mkfifo("w/.sgt-t-8", 0600), 0);
    put("w/.sgt-t-1-7/a", "");
    put_link("w/.sgt-t-9", "x");
    put("w/.sgt-t-0", "");
    put("w/.sgt-t-1-af", "");
    assert_int_equal(mkdir("w/.sgt-t-1-d3", 0755), 0);
    put("w/.sgt-t-1-d3/a", "");
    assert_int_equal(work_sweep(&work, &q, STR(""), &reply, &err), 0);
    assert_int_equal(reply.sweep.removed, 4);
    assert_int_equal(entries("w"), (int)ARRAY_LEN(kept) + 3);
    assert_true(is_there("w/.sgt-t-1-7/a"));
}

/* Someone takes the names that would come next. */
static void names_that_are_taken_stop_no_write(void **state)
{
    (void)state;
    struct temp temp;
    struct err err;
    char path[100];
    temp_begin(&temp, root.fd, STR("t"), TEMP_FILE, 0);
    temp_end(&temp);
    unsigned number = (unsigned)strtoul(strrchr(temp.name, '-') + 1, NULL, 16);
    for (unsigned i = 1; i < 100; i++) {
        snprintf(path, sizeof path, "w/.sgt-t-%x", number + i);
        put(path, "mine");
        snprintf(path, sizeof path, "w/.sgt-t-d%x", number + i);
        put(path, "mine");
    }
    assert_done(do_write("a", &err), &err, "written");
    assert_int_equal(mkdir("w/d", 0755), 0);
    put("w/d/x", "");
    assert_done(do_delete("d", &err), &err, "deleted");
    assert_int_equal(entries("w"), 2 * 99 + 1);
}

/* --- locks */

static int hold(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
}

/* Once the new content is there, and only its name is missing. */
static void *cancel_when_written(void *arg)
{
    (void)arg;
    while (entries("w/d") < 2)
        sched_yield();
    atomic_store(&cancelled, true);
    return NULL;
}

static void expect_wait(int r, const struct err *err, const char *what)
{
    if (r == 0 || err->code != ERR_CANCELLED)
        fail_msg("%s did not wait", what);
    atomic_store(&cancelled, false);
    assert_int_equal(entries("w/d"), 1);
    assert_int_equal(entries("w/e"), 1);
}

static void begin_to_wait(pthread_t *ret)
{
    assert_int_equal(pthread_create(ret, NULL, cancel_when_written, NULL), 0);
}

/* Where it has to wait, a call that is cancelled says so; nothing of it is left. */
static void every_way_to_change_a_name_takes_the_lock(void **state)
{
    (void)state;
    struct err err;
    pthread_t thread;
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/e", 0755), 0);
    put("w/d/a", "x");
    put("w/e/b", "x");
    FD_AT_END int held = hold("w/d");
    begin_to_wait(&thread);
    int r = do_write("d/a", &err);
    pthread_join(thread, NULL);
    expect_wait(r, &err, "a write");
    begin_to_wait(&thread);
    r = do_edit("d/a", &err);
    pthread_join(thread, NULL);
    expect_wait(r, &err, "an edit");
    atomic_store(&cancelled, true);
    expect_wait(write_as("d/a", (struct op_write_request){.append = true}, "new", &err), &err,
                "an append");
    atomic_store(&cancelled, true);
    expect_wait(do_move("d/a", "e/a", &err), &err, "a move out");
    atomic_store(&cancelled, true);
    expect_wait(do_move("e/b", "d/a", &err), &err, "a move in");
    atomic_store(&cancelled, true);
    expect_wait(do_move("d/a", "d/c", &err), &err, "a new name");
    atomic_store(&cancelled, true);
    expect_wait(do_delete("d/a", &err), &err, "a deletion");
    /* Another folder's lock is another. */
    assert_done(do_write("e/b", &err), &err, "beside it");
}

static void two_locks_are_one_where_the_folder_is(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(mkdir("w/d", 0755), 0);
    FD_AT_END int a = open("w/d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int b = open("w/d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct folder_lock lock = FOLDER_LOCK_NONE;
    assert_int_equal(folder_lock_take_two(&work, a, b, "d", &lock, &err), 0);
    assert_true(folder_lock_holds(&lock, b) && !folder_lock_holds(&lock, root.fd));
    folder_lock_done(&lock);
    assert_false(folder_lock_holds(&lock, b));
    assert_int_equal(folder_lock_take_two(&work, a, root.fd, "d", &lock, &err), 0);
    folder_lock_done(&lock);
    assert_int_equal(folder_lock_take_two(&work, root.fd, a, "d", &lock, &err), 0);
    folder_lock_done(&lock);
    close(hold("w/d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_refused_write_leaves_nothing),
        WORK_TEST(what_cancels_out_is_not_made),
        WORK_TEST(a_write_that_fails_late_removes_its_folders),
        WORK_TEST(only_what_we_made_is_swept),
        WORK_TEST(names_that_are_taken_stop_no_write),
        WORK_TEST(every_way_to_change_a_name_takes_the_lock),
        WORK_TEST(two_locks_are_one_where_the_folder_is),
    };
    return cmocka_run_group_tests_name("write", tests, NULL, NULL);
}
