#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/held.h"

#define NOT_ALLOWED 77
/* More than one message of an answer tells of. */
#define PAIRS 400

/* In a network namespace of its own, where nobody else has sockets. The child's result is 0, or a line. */
static void alone(int (*test)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ? NOT_ALLOWED : test());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_ALLOWED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Of the process that asks, whose network namespace "self" tells of. */
static int proc(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_sockets(void)
{
    char bytes[4096] = {0};
    for (int i = 0; i < PAIRS; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
            send(pair[0], bytes, sizeof bytes, 0) < 0)
            _exit(98);
    }
}

/* As one whose answer did not come in time. */
static int ask_and_leave(int fd)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_req req;
    } ask = {
        .head = {.nlmsg_len = sizeof ask,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX},
    };
    return send(fd, &ask, sizeof ask, 0) < 0 ? -1 : 0;
}

static int counts_after_a_lost_answer(void)
{
    uint64_t before;
    uint64_t after;
    make_sockets();
    int fd = held_open();
    if (fd < 0 || !held_by_sockets(fd, proc(), 0, &before) || before < (uint64_t)PAIRS * 4096)
        return 1;
    if (ask_and_leave(fd) < 0 || !held_by_sockets(fd, proc(), 0, &after))
        return 2;
    return before == after ? 0 : 3;
}

static int stops_at_enough(void)
{
    uint64_t bytes;
    make_sockets();
    int fd = held_open();
    if (!held_by_sockets(fd, proc(), 100000, &bytes) || bytes <= 100000)
        return 1;
    /* What it did not read is not taken for an answer. */
    uint64_t all;
    return held_by_sockets(fd, proc(), 0, &all) && all >= (uint64_t)PAIRS * 4096 ? 0 : 2;
}

static uint64_t held(int fd)
{
    uint64_t bytes;
    if (!held_by_sockets(fd, proc(), 0, &bytes))
        _exit(97);
    return bytes;
}

/* Data in `receiver` whose sender is closed. */
static int leaves_unread(int type, size_t size)
{
    static char bytes[100000];
    int pair[2];
    if (socketpair(AF_UNIX, type, 0, pair) < 0 || send(pair[0], bytes, size, 0) != (ssize_t)size)
        _exit(98);
    close(pair[0]);
    return pair[1];
}

static int counts_after_the_sender_closed(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    static char bytes[100000];
    int fd = held_open();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint64_t before = held(fd);
        int receiver = leaves_unread(types[i], sizeof bytes);
        if (held(fd) < before + sizeof bytes)
            return 1 + (int)i;
        while (recv(receiver, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
            continue;
        close(receiver);
        if (held(fd) != before)
            return 11 + (int)i;
    }
    return 0;
}

/* An answer for each question, which nobody reads. */
static int asks_routes(unsigned times)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
    } ask = {
        .head = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .link = {.ifi_index = 1},
    };
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    for (unsigned i = 0; i < times; i++) {
        if (send(fd, &ask, sizeof ask, 0) < 0)
            _exit(98);
    }
    return fd;
}

static int counts_netlink(void)
{
    int fd = held_open();
    uint64_t before = held(fd);
    int routes = asks_routes(20);
    /* The least that one answer with all about an interface has. */
    if (held(fd) < before + 20u * 1000u)
        return 1;
    close(routes);
    return held(fd) == before ? 0 : 2;
}

static void data_counts_when_its_sender_is_closed(void **state)
{
    (void)state;
    alone(counts_after_the_sender_closed);
}

static void answers_that_wait_in_netlink_sockets_count(void **state)
{
    (void)state;
    alone(counts_netlink);
}

static void an_answer_that_was_lost_does_not_count(void **state)
{
    (void)state;
    alone(counts_after_a_lost_answer);
}

static void it_stops_at_enough(void **state)
{
    (void)state;
    alone(stops_at_enough);
}

static void what_cannot_be_counted_is_told(void **state)
{
    (void)state;
    uint64_t bytes = 1;
    assert_false(held_by_sockets(-1, -1, 0, &bytes));
    assert_int_equal(bytes, 0);
    /* A socket that answers nothing. */
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(pair[1]);
    assert_false(held_by_sockets(pair[0], -1, 0, &bytes));
    close(pair[0]);
}

static void a_lack_of_descriptors_has_its_own_error(void **state)
{
    (void)state;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = held_open();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(r, -EMFILE);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_was_lost_does_not_count),
        cmocka_unit_test(it_stops_at_enough),
        cmocka_unit_test(data_counts_when_its_sender_is_closed),
        cmocka_unit_test(answers_that_wait_in_netlink_sockets_count),
        cmocka_unit_test(what_cannot_be_counted_is_told),
        cmocka_unit_test(a_lack_of_descriptors_has_its_own_error),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
