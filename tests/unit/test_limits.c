#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cell/limits_parts.h"

#define MIB ((uint64_t)1 << 20)

static struct limits *open_real(void)
{
    struct limits *l;
    assert_int_equal(limits_open(&l, "unittest"), 0);
    if (limits_by_group(l, LIMIT_MEMORY) && limits_by_group(l, LIMIT_PROCESSES))
        return l;
    print_message("no cgroups for memory and processes can be made here (%s)\n",
                  limits_mechanism(l));
    limits_close(l);
    return NULL;
}

/* A gate does its work without groups too, so where nothing may be skipped this is no failure. */
#define REAL_OR_SKIP(l)                                                                            \
    struct limits *l = open_real();                                                                \
    if (!(l) && !getenv("SANDGATE_MUST_WORK"))                                                     \
        skip();                                                                                    \
    if (!(l))                                                                                      \
    return

/* How many of our groups there are. */
static int count_groups(const struct limits *l)
{
    int count = 0;
    for (size_t i = 0; i < l->n_trees; i++) {
        DIR *d = fdopendir(openat(l->trees[i].dir, ".", O_RDONLY | O_DIRECTORY));
        assert_non_null(d);
        const struct dirent *e;
        while ((e = readdir(d)))
            count += strncmp(e->d_name, l->prefix, strlen(l->prefix)) == 0;
        closedir(d);
    }
    return count;
}

static bool enter(const struct limit_group *g)
{
    int fds[LIMIT_KINDS];
    int n = limit_group_fds(g, fds);
    for (int i = 0; i < n; i++) {
        if (write(fds[i], "0", 1) != 1)
            return false;
    }
    return n > 0;
}

/* A child that enters and does something; its wait status. */
static int in_group(const struct limit_group *g, int (*act)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(enter(g) ? act() : 99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int use_memory(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 98;
    memset(p, 1, bytes);
    return 0;
}

static int use_200_mib(void)
{
    return use_memory(200 * MIB);
}

static int use_40_mib(void)
{
    return use_memory(40 * MIB);
}

static int do_nothing(void)
{
    return 0;
}

static _Noreturn void wait_forever(void)
{
    for (;;)
        pause();
}

/* Tells how many children it could have at once. */
static int fork_many(void)
{
    pid_t pids[50];
    int n = 0;
    while (n < 50 && (pids[n] = fork()) > 0)
        n++;
    if (n < 50 && pids[n] == 0)
        wait_forever();
    for (int i = 0; i < n; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    return n;
}

static void stops_memory(void **state)
{
    (void)state;
    struct limits_seen seen;
    REAL_OR_SKIP(l);
    struct limit_group *g = limits_take(l, &(struct limits_want){.memory = 64 * MIB});
    assert_non_null(g);
    int status = in_group(g, use_200_mib);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    limit_group_read(g, &seen);
    /* Where all in a group are killed together, the one that was chosen counts twice. */
    assert_in_range(seen.oom_kills, 1, l->trees[0].v2 ? 2 : 1);
    assert_in_range(seen.peak_memory, 60 * MIB, 64 * MIB);
    limits_give_back(l, g);

    /* The same group, raised: its counters begin anew. */
    struct limit_group *again = limits_take(l, &(struct limits_want){.memory = 512 * MIB});
    assert_ptr_equal(again, g);
    limit_group_read(again, &seen);
    assert_int_equal(seen.oom_kills, 0);
    assert_int_equal(in_group(again, use_200_mib), 0);
    limit_group_read(again, &seen);
    assert_int_equal(seen.oom_kills, 0);
    assert_in_range(seen.peak_memory, 196 * MIB, 220 * MIB);
    limits_give_back(l, again);

    /* And lowered. Where the kernel cannot tell the peak of a group used before, it is 0. */
    again = limits_take(l, &(struct limits_want){.memory = 64 * MIB});
    assert_ptr_equal(again, g);
    bool resets = again->peak_resets;
    assert_int_equal(in_group(again, use_40_mib), 0);
    limit_group_read(again, &seen);
    if (resets)
        assert_in_range(seen.peak_memory, 38 * MIB, 56 * MIB);
    else
        assert_int_equal(seen.peak_memory, 0);
    assert_true(WIFSIGNALED(in_group(again, use_200_mib)));
    limits_give_back(l, again);
    limits_close(l);
}

static void stops_processes(void **state)
{
    (void)state;
    struct limits_seen seen;
    REAL_OR_SKIP(l);
    struct limit_group *g = limits_take(l, &(struct limits_want){.processes = 10});
    assert_non_null(g);
    int status = in_group(g, fork_many);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 9);
    limit_group_read(g, &seen);
    assert_true(seen.process_limit_hits >= 1);
    limits_give_back(l, g);
    g = limits_take(l, &(struct limits_want){0});
    assert_int_equal(WEXITSTATUS(in_group(g, fork_many)), 50);
    limit_group_read(g, &seen);
    assert_int_equal(seen.process_limit_hits, 0);
    limits_give_back(l, g);
    limits_close(l);
}

static int work_100_ms(void)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_nsec < 100000000 && used.tv_sec == 0);
    return 0;
}

static void slows_down(void **state)
{
    (void)state;
    REAL_OR_SKIP(l);
    if (!limits_by_group(l, LIMIT_CPU)) {
        limits_close(l);
        print_message("no cgroups for processor time here\n");
        skip();
    }
    struct limit_group *g = limits_take(l, &(struct limits_want){.cpu_millis = 200});
    uint64_t start = clock_mono_ns();
    assert_int_equal(in_group(g, work_100_ms), 0);
    /* 100 ms at 20 ms for each 100; the first may come at once. */
    assert_true(clock_mono_ns() - start > 300000000);
    limits_give_back(l, g);
    limits_close(l);
}

static void keeps_and_removes(void **state)
{
    (void)state;
    REAL_OR_SKIP(l);
    struct limits_want want = {64 * MIB, 10, 1000};
    struct limit_group *taken[40];
    assert_int_equal(count_groups(l), (int)l->n_trees);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        taken[i] = limits_take(l, &want);
        assert_non_null(taken[i]);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(taken[i], taken[j]);
    }
    assert_int_equal(count_groups(l), (int)(ARRAY_LEN(taken) * l->n_trees));
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        limits_give_back(l, taken[i]);
    /* Some stay, for the next ones. */
    int kept = count_groups(l);
    assert_in_range(kept, l->n_trees, 20 * l->n_trees);
    for (int i = 0; i < 100; i++) {
        struct limit_group *g = limits_take(l, &want);
        assert_int_equal(in_group(g, do_nothing), 0);
        limits_give_back(l, g);
    }
    assert_int_equal(count_groups(l), kept);
    int dir = dup(l->trees[0].dir);
    struct limits only_to_count = {.trees = {{.dir = dir}}, .n_trees = 1};
    memcpy(only_to_count.prefix, l->prefix, sizeof l->prefix);
    limits_close(l);
    assert_int_equal(count_groups(&only_to_count), 0);
    close(dir);
}

/* A process in the group that nobody ends. */
static pid_t stay_in(const struct limit_group *g)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (enter(g) && write(ready[1], "x", 1) == 1)
            wait_forever();
        _exit(99);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void kills_what_is_left(void **state)
{
    (void)state;
    int status;
    REAL_OR_SKIP(l);
    struct limits_want want = {64 * MIB, 10, 0};
    struct limit_group *g = limits_take(l, &want);
    pid_t pid = stay_in(g);
    limits_give_back(l, g);
    /* Until it was waited for it counts. */
    struct limit_group *other = limits_take(l, &want);
    assert_ptr_not_equal(other, g);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    struct limit_group *again = limits_take(l, &want);
    assert_ptr_equal(again, g);
    /* Its limits are back. */
    assert_int_equal(WEXITSTATUS(in_group(again, fork_many)), 9);

    /* Closing kills too, also what is in a group that was never given back. */
    signal(SIGCHLD, SIG_IGN);
    pid = stay_in(other);
    limits_close(l);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    signal(SIGCHLD, SIG_DFL);
}

static void survives_a_removed_group(void **state)
{
    (void)state;
    REAL_OR_SKIP(l);
    struct limits_want want = {64 * MIB, 10, 0};
    struct limit_group *g = limits_take(l, &want);
    limits_give_back(l, g);
    assert_int_equal(limit_group_remove(g), 0);
    g = limits_take(l, &want);
    assert_non_null(g);
    assert_int_equal(in_group(g, do_nothing), 0);
    limits_give_back(l, g);
    limits_close(l);
}

/* A gate with a group, until it is killed; its groups' prefix. */
static pid_t another_gate(char prefix[LIMIT_NAME_MAX])
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct limits *l;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (limits_open(&l, "othergate") < 0 ||
            !limits_take(l, &(struct limits_want){.processes = 3}) ||
            write(ready[1], l->prefix, LIMIT_NAME_MAX) != LIMIT_NAME_MAX)
            _exit(99);
        wait_forever();
    }
    assert_int_equal(read(ready[0], prefix, LIMIT_NAME_MAX), LIMIT_NAME_MAX);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int count_of(struct limits *l, const char *prefix)
{
    struct limits other = *l;
    memcpy(other.prefix, prefix, LIMIT_NAME_MAX);
    return count_groups(&other);
}

static void removes_leftovers(void **state)
{
    (void)state;
    char dead[LIMIT_NAME_MAX];
    char living[LIMIT_NAME_MAX];
    REAL_OR_SKIP(before);
    pid_t killed = another_gate(dead);
    pid_t lives = another_gate(living);
    int each = (int)before->n_trees;
    kill(killed, SIGKILL);
    /* Dead is also who was not waited for yet. */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)killed, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(count_of(before, dead), each);
    struct limits *l = open_real();
    assert_int_equal(count_of(l, dead), 0);
    assert_int_equal(count_of(l, living), each);
    limits_close(l);
    waitpid(killed, NULL, 0);
    kill(lives, SIGKILL);
    waitpid(lives, NULL, 0);
    l = open_real();
    assert_int_equal(count_of(l, living), 0);
    limits_close(l);
    limits_close(before);
}

static void is_quick(void **state)
{
    (void)state;
    REAL_OR_SKIP(l);
    struct limits_want want = {64 * MIB, 10, 1000};
    struct limits_seen seen;
    int fds[LIMIT_KINDS];
    const int rounds = 2000;
    limits_give_back(l, limits_take(l, &want));
    uint64_t start = clock_mono_ns();
    for (int i = 0; i < rounds; i++) {
        struct limit_group *g = limits_take(l, &want);
        assert_true(limit_group_fds(g, fds) > 0);
        limit_group_read(g, &seen);
        limits_give_back(l, g);
    }
    double us = (double)(clock_mono_ns() - start) / rounds / 1000;
    print_message("taking, reading and giving back: %.1f us\n", us);
    assert_true(us < 5000);
    limits_close(l);
}

static void refuses_a_bad_tag(void **state)
{
    (void)state;
    struct limits *l = NULL;
    assert_int_equal(limits_open(&l, "../x"), -EINVAL);
    assert_int_equal(limits_open(&l, ""), -EINVAL);
    assert_null(l);
}

static void does_without(void **state)
{
    (void)state;
    struct limits *l;
    int fds[LIMIT_KINDS];
    struct limits_seen seen = {1, 1, 1};
    assert_int_equal(limits_open_from(&l, "none", "/nonexistent", "/nonexistent"), 0);
    assert_string_equal(limits_mechanism(l), "rlimit");
    for (int kind = 0; kind < LIMIT_KINDS; kind++)
        assert_false(limits_by_group(l, (enum limit_kind)kind));
    struct limit_group *g = limits_take(l, &(struct limits_want){.memory = MIB});
    assert_null(g);
    assert_int_equal(limit_group_fds(g, fds), 0);
    limit_group_read(g, &seen);
    assert_int_equal(seen.peak_memory + seen.oom_kills + seen.process_limit_hits, 0);
    limits_give_back(l, g);
    limits_close(l);
    limits_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_memory),       cmocka_unit_test(stops_processes),
        cmocka_unit_test(slows_down),         cmocka_unit_test(keeps_and_removes),
        cmocka_unit_test(kills_what_is_left), cmocka_unit_test(survives_a_removed_group),
        cmocka_unit_test(removes_leftovers),  cmocka_unit_test(is_quick),
        cmocka_unit_test(refuses_a_bad_tag),  cmocka_unit_test(does_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
