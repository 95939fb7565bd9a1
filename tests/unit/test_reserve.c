/* Memory is used up: small allocations and those of base/mem.h are still served, buffers are refused, and what was used of
 * the reserve is noticed and taken back. Each case is a process of its own, which is small. */
#include "base/reserve.h"

#include <cmocka.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define ROOM ((size_t)16 << 20)
#define BLOCKS 4096

static void *blocks[BLOCKS];
static void *volatile kept; /* so that no allocation is left out as unused */

static void limit_data(size_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_DATA, &limit) < 0)
        _exit(90);
}

/* All that there is, in pieces that may not use the reserve; returns how many. */
static size_t use_up(void)
{
    size_t n = 0;
    for (size_t size = 1 << 20; size > RESERVE_SMALL; size /= 2) {
        while (n < BLOCKS && (blocks[n] = malloc(size)))
            n++;
    }
    return n;
}

static void give_all_back(size_t n)
{
    while (n)
        free(blocks[--n]);
}

static int small_ones(void)
{
    size_t n = use_up();
    if (!reserve_is_whole())
        return 1; /* what may fail has used it */
    /* 2 MiB in all: more than the allocator can have kept. */
    for (int i = 0; i < 512; i++) {
        if (!(kept = malloc(4096)))
            return 2;
    }
    if (!reserve_was_used())
        return 3;
    give_all_back(n);
    return reserve_is_whole() && !reserve_was_used() ? 0 : 4;
}

static int large_ones_of_ours(void)
{
    use_up();
    char *p = mem_zero((size_t)1 << 20);
    p = mem_grow(p, 3, (size_t)1 << 19);
    return p[0] == 0 && reserve_was_used() ? 0 : 1;
}

static int buffers(void)
{
    use_up();
    struct buf b = BUF_INIT((size_t)1 << 30);
    if (buf_reserve(&b, (size_t)1 << 20) != -ENOMEM || !b.no_memory || !reserve_is_whole())
        return 1;
    buf_reset(&b, 0);
    return b.no_memory || b.failed ? 2 : 0;
}

/* Somebody keeps what the reserve gave: a smaller one has to do, or nothing would ever run again. */
static int that_is_kept(void)
{
    use_up();
    for (int i = 0; i < 256; i++) {
        if (!(kept = malloc(4096)))
            return 1;
    }
    return reserve_was_used() && reserve_is_whole() ? 0 : 2;
}

/* What was pledged can be had when all else is gone, by nobody else, and the reserve stays whole. */
static int pledged(void)
{
    struct pledge pledge = {0};
    if (!pledge_add(&pledge, (size_t)1 << 20) || !pledge_add(&pledge, (size_t)2 << 20) ||
        pledge_add(&pledge, ROOM))
        return 1;
    use_up();
    if ((kept = malloc((size_t)1 << 20)))
        return 2;
    {
        RESERVE_OPEN_WITH(&pledge);
        if (!(kept = malloc((size_t)1 << 20)) || reserve_was_used())
            return 3;
    }
    if ((kept = malloc((size_t)1 << 20)))
        return 4;
    pledge_end(&pledge);
    return (kept = malloc((size_t)1 << 20)) ? 0 : 5;
}

static int nothing_left(void)
{
    use_up();
    do
        kept = malloc(RESERVE_SMALL);
    while (kept);
    return reserve_is_whole() ? 1 : 0;
}

static void check(int (*run)(void))
{
#ifndef SANDGATE_RESERVE
    skip(); /* a sanitizer has an allocator of its own */
#endif
    pid_t child = fork();
    if (child == 0) {
        limit_data(ROOM);
        reserve_make((size_t)4 << 20);
        if (!reserve_is_whole())
            _exit(91);
        _exit(run());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check(name);                                                                               \
    }

CASE(small_ones)
CASE(large_ones_of_ours)
CASE(buffers)
CASE(that_is_kept)
CASE(pledged)
CASE(nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones),   cmocka_unit_test(test_large_ones_of_ours),
        cmocka_unit_test(test_buffers),      cmocka_unit_test(test_that_is_kept),
        cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_pledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
