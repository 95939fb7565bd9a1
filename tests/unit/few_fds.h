/* A process that is short of descriptors. */
#ifndef SANDGATE_TESTS_FEW_FDS_H
#define SANDGATE_TESTS_FEW_FDS_H

#include <sys/resource.h>
#include <unistd.h>

#define FEW_FDS_MAX 4

/* From now on so many more can be opened; few_fds_end gives back what there was. */
static struct rlimit few_fds_begin(unsigned more)
{
    struct rlimit was;
    int taken[FEW_FDS_MAX + 1];
    assert_true(more <= FEW_FDS_MAX);
    /* Numbers below these may be taken. */
    for (unsigned i = 0; i <= more; i++)
        taken[i] = dup(STDERR_FILENO);
    for (unsigned i = 0; i <= more; i++)
        assert_int_equal(close(taken[i]), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)taken[more], was.rlim_max}), 0);
    return was;
}

static void few_fds_end(const struct rlimit *was)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, was), 0);
}

#endif
