#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/epoll_full.h"

#define ARG(n) offsetof(struct seccomp_data, args[n])
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)

/* As where the user's watches are used up. With `event` only where that is passed. */
static void refuse_watches(const struct epoll_event *event)
{
    struct sock_filter code[] = {
        LOAD(offsetof(struct seccomp_data, nr)),
        UNLESS(SYS_epoll_ctl, 5),
        LOAD(ARG(1)),
        UNLESS(EPOLL_CTL_ADD, 3),
        LOAD(ARG(3)),
        event ? (struct sock_filter)UNLESS((uint32_t)(uintptr_t)event, 1)
              : (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(99);
}

/* A filter stays: each test has its own process, whose result is 0, or says what was not so. */
static void alone(int (*test)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(test());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static char got;

static void on_readable(uv_poll_t *poll, int status, int events)
{
    const int *fd = poll->data;
    if (status == 0 && events == UV_READABLE && read(*fd, &got, 1) == 1)
        uv_poll_stop(poll);
}

static void on_timer(uv_timer_t *timer)
{
    (void)!write(*(const int *)timer->data, "x", 1);
}

static int loops_without_room(void)
{
    static uv_loop_t loop;
    static uv_poll_t poll;
    static uv_timer_t timer;
    int ends[2];
    refuse_watches(NULL);
    epoll_full_use();
    if (pipe(ends) < 0 || uv_loop_init(&loop) < 0 || uv_poll_init(&loop, &poll, ends[0]) < 0)
        return 1;
    poll.data = &ends[0];
    uv_timer_init(&loop, &timer);
    timer.data = &ends[1];
    for (int turn = 0; turn < 3; turn++) {
        got = 0;
        uv_poll_start(&poll, UV_READABLE, on_readable);
        uv_timer_start(&timer, on_timer, 1, 0);
        if (uv_run(&loop, UV_RUN_DEFAULT) != 0 || got != 'x')
            return 2;
    }
    /* Its own, which tells it of work that other threads did. */
    return epoll_full_count() > 0 ? 0 : 3;
}

static int takes_in_what_fits_later(void)
{
    static struct epoll_event event;
    struct epoll_event told = {0};
    int ends[2];
    int set = epoll_create1(EPOLL_CLOEXEC);
    event = (struct epoll_event){EPOLLIN, {.u64 = 7}};
    refuse_watches(&event);
    if (pipe(ends) < 0 || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) < 0)
        return 1;
    if (epoll_full_count() != 1)
        return 2;
    if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) == 0 || errno != EEXIST)
        return 3;
    if (epoll_wait(set, &told, 1, 0) != 0 || epoll_full_count() != 0)
        return 4;
    if (write(ends[1], "x", 1) != 1 || epoll_wait(set, &told, 1, -1) != 1 || told.data.u64 != 7)
        return 5;
    return 0;
}

/* Some are in the set, others are not. */
static int tells_of_both(void)
{
    struct epoll_event event = {EPOLLIN, {.u64 = 1}};
    struct epoll_event told[4] = {0};
    int in[2];
    int out[2];
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (pipe(in) < 0 || pipe(out) < 0 || epoll_ctl(set, EPOLL_CTL_ADD, in[0], &event) < 0)
        return 1;
    refuse_watches(NULL);
    event.data.u64 = 2;
    if (epoll_ctl(set, EPOLL_CTL_ADD, out[0], &event) < 0 || epoll_full_count() != 1)
        return 2;
    if (write(in[1], "x", 1) != 1 || write(out[1], "x", 1) != 1)
        return 3;
    if (epoll_wait(set, told, 4, -1) != 2 || told[0].data.u64 + told[1].data.u64 != 3)
        return 4;
    if (epoll_ctl(set, EPOLL_CTL_DEL, out[0], NULL) < 0 || epoll_full_count() != 0)
        return 5;
    return epoll_wait(set, told, 4, -1) == 1 && told[0].data.u64 == 1 ? 0 : 6;
}

static void a_loop_works_without_room(void **state)
{
    (void)state;
    alone(loops_without_room);
}

static void what_fits_later_is_taken_in(void **state)
{
    (void)state;
    alone(takes_in_what_fits_later);
}

static void both_kinds_are_told_of(void **state)
{
    (void)state;
    alone(tells_of_both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_works_without_room),
        cmocka_unit_test(what_fits_later_is_taken_in),
        cmocka_unit_test(both_kinds_are_told_of),
    };
    return cmocka_run_group_tests_name("epoll_full", tests, NULL, NULL);
}
