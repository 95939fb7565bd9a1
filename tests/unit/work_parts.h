/* One thread's things of a worker, without a gate: operations are called as functions. */
#ifndef SANDGATE_TESTS_WORK_PARTS_H
#define SANDGATE_TESTS_WORK_PARTS_H

#include "beneath_root.h"
#include "work/replies.h"

static atomic_bool cancelled;
static char chunk[WORK_CHUNK];
static struct work work;
static struct replies replies; /* nobody hears them */

static inline int work_set_up(void **state)
{
    if (set_up(state) < 0)
        return -1;
    atomic_store(&cancelled, false);
    replies_init(&replies, -1, (struct shelf){0});
    work = (struct work){
        .roots = &root,
        .n_roots = 1,
        .cancelled = &cancelled,
        .chunk = chunk,
        .body = BUF_INIT(16u << 20),
        .replies = &replies,
        .limit = 16 << 20,
        .slow = true, /* nobody to be asked for help */
    };
    return 0;
}

static inline int work_tear_down(void **state)
{
    work_done(&work);
    return tear_down(state);
}

static inline bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Folders in one another beneath `path`, which is there: d/d/d. */
static inline void put_deep(const char *path, int count)
{
    int at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < count; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
}

#define WORK_TEST(name) cmocka_unit_test_setup_teardown(name, work_set_up, work_tear_down)

#endif
