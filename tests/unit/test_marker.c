/* Markers of gates that are dead: who takes them over, and when. */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/mem.h"
#include "few_fds.h"
#include "folder.h"
#include "session/marker.h"
#include "session/process_group.h"

static const bool roots[ROOTS_MAX] = {true};
static char *store;

static int marker_set_up(void **state)
{
    if (folder_set_up(state) < 0 || mkdir("store", 0700) < 0)
        return -1;
    store = mem_format("%s/store", folder);
    return 0;
}

static int marker_tear_down(void **state)
{
    free(store);
    return folder_tear_down(state);
}

static void put(const char *path, const char *bytes, size_t n)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

/* A process in a group of its own. */
static pid_t start_process(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            pause();
    }
    assert_int_equal(setpgid(pid, pid), 0);
    return pid;
}

static void end_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As a gate leaves it that was killed while a command of this group ran. */
static void leave_set(const char *tag, pid_t group)
{
    struct marker m;
    marker_init(&m, store);
    assert_int_equal(marker_set(&m, tag, roots, group), 0);
    marker_done(&m);
}

static int take_over(struct marker *m, bool *ret_dying)
{
    *ret_dying = false;
    return marker_take_over(m, false, ret_dying);
}

static void one_whose_processes_live_is_left_until_they_end(void **state)
{
    (void)state;
    struct marker m;
    bool dying;
    pid_t pid = start_process();
    leave_set("first", pid);
    marker_init(&m, store);
    assert_int_equal(take_over(&m, &dying), 0);
    assert_true(dying);
    assert_int_equal(take_over(&m, &dying), 0);
    assert_true(dying);
    end_process(pid);
    assert_int_equal(take_over(&m, &dying), 1);
    assert_false(dying);
    marker_remove(&m);
    marker_done(&m);
}

/* With descriptors for so many more. */
static bool lives_with(unsigned more, const char *group)
{
    struct rlimit was = few_fds_begin(more);
    bool lives = process_group_lives(group);
    few_fds_end(&was);
    return lives;
}

static void processes_that_cannot_be_looked_at_may_live(void **state)
{
    (void)state;
    char group[PROCESS_GROUP_TEXT];
    pid_t pid = start_process();
    process_group_write(pid, group);
    for (unsigned more = 0; more < 3; more++)
        assert_true(lives_with(more, group));
    end_process(pid);
    for (unsigned more = 0; more < 3; more++)
        assert_false(lives_with(more, group));
}

static void who_does_not_wait_takes_it_all_the_same(void **state)
{
    (void)state;
    struct marker m;
    pid_t pid = start_process();
    leave_set("first", pid);
    marker_init(&m, store);
    assert_int_equal(marker_take_over(&m, false, NULL), 1);
    end_process(pid);
    marker_remove(&m);
    marker_done(&m);
}

/* Another gate that has just locked the name of a new one must not be waited for. */
static void a_name_that_is_locked_is_not_waited_for(void **state)
{
    (void)state;
    struct marker m;
    assert_int_equal(mkdir("store.running", 0700), 0);
    FD_AT_END int held = open("store.running/tag", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    marker_init(&m, store);
    assert_int_equal(marker_set(&m, "tag", roots, getpgrp()), 0);
    assert_int_equal(flock(m.fd, LOCK_EX | LOCK_NB), 0);
    marker_remove(&m);
    marker_done(&m);
}

static void a_damaged_one_counts_as_set(void **state)
{
    (void)state;
    static const struct str damages[] = {STR_INIT(""), STR_INIT("\0\0\0\0"), STR_INIT("x"),
                                         STR_INIT("+"), STR_INIT("+9 x")};
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        struct marker m;
        bool dying;
        leave_set("first", getpgrp());
        put("store.running/first-0", damages[i].p, damages[i].n);
        marker_init(&m, store);
        assert_int_equal(take_over(&m, &dying), 1);
        assert_false(dying);
        marker_remove(&m);
        marker_done(&m);
    }
}

static void one_that_rests_is_removed(void **state)
{
    (void)state;
    struct marker m;
    struct stat st;
    bool dying;
    leave_set("first", getpgrp());
    put("store.running/first-0", "-", 1);
    put("store.running/second.new", "", 0);
    marker_init(&m, store);
    assert_int_equal(take_over(&m, &dying), 0);
    assert_false(dying);
    marker_done(&m);
    assert_int_equal(stat("store.running/first-0", &st), -1);
    assert_int_equal(stat("store.running/second.new", &st), -1);
}

static void one_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    struct marker m;
    bool dying;
    assert_int_equal(mkdir("store.running", 0700) | mkdir("store.running/folder", 0700), 0);
    marker_init(&m, store);
    assert_int_equal(take_over(&m, &dying), -EISDIR);
    assert_string_equal(m.damaged, "folder");
    assert_int_equal(rmdir("store.running/folder"), 0);
    assert_int_equal(symlink("elsewhere", "store.running/link"), 0);
    assert_int_equal(take_over(&m, &dying), -ELOOP);
    assert_int_equal(unlink("store.running/link"), 0);
    assert_int_equal(take_over(&m, &dying), 0);
    marker_done(&m);
    assert_int_equal(rmdir("store.running"), 0);
    put("store.running", "", 0);
    marker_init(&m, store);
    assert_int_equal(take_over(&m, &dying), -ENOTDIR);
    marker_done(&m);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, marker_set_up, marker_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_whose_processes_live_is_left_until_they_end),
        CASE(processes_that_cannot_be_looked_at_may_live),
        CASE(who_does_not_wait_takes_it_all_the_same),
        CASE(a_name_that_is_locked_is_not_waited_for),
        CASE(a_damaged_one_counts_as_set),
        CASE(one_that_rests_is_removed),
        CASE(one_that_cannot_be_opened_is_an_error),
    };
    return cmocka_run_group_tests_name("marker", tests, NULL, NULL);
}
